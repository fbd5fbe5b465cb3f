import { quoted } from "../../kernel/text/shell-words.ts";

/** Ignores TERM, because the app still answers its open requests then. It ends with the box. */
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
 * The beginning of a box's script: connects 127.0.0.1 with an app that listens at ::1 alone, as Node does for
 * `localhost` where the hosts file gives it that address.
 */
export const loopbackRelay = (port: number): string => `NODE_OPTIONS= node -e ${quoted(program(port))} & `;
