import { serveFolder } from "./static-site.ts";

/*
 * The server of a static site: a program of its own, which runs in a box as apps do, so that a link of a release leads to
 * nothing but what the box shows. Its argument is the folder, below the one in which it starts.
 */

const [folder = "."] = process.argv.slice(2);
const { PORT, HOST = "127.0.0.1" } = process.env;
serveFolder(process.cwd(), folder, { port: Number(PORT), host: HOST }).catch(({ message }: Error) => {
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
});
