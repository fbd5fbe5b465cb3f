import { quoted } from "../../kernel/text/shell-words.ts";

/** The relay. It ignores TERM, because the app then still answers its open requests, and ends with the box. */
const program = (port: number) => `
const { connect, createServer } = require("node:net");
process.on("SIGTERM", () => {});
createServer({ allowHalfOpen: true }, (one) => {
  const other = connect({ host: "::1", port: ${port}, allowHalfOpen: true });
  for (const socket of [one, other]) socket.on("error", () => [one, other].forEach((each) => each.destroy()));
  one.pipe(other).pipe(one);
}).listen(${port}, "127.0.0.1");
`;

/**
 * The start of a box's script: connects 127.0.0.1 with an app that listens only at ::1, as Node does for `localhost`
 * if the hosts file maps it to ::1.
 */
export const loopbackRelay = (port: number): string => `NODE_OPTIONS= node -e ${quoted(program(port))} & `;
