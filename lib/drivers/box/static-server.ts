import { serveFolder } from "./static-site.ts";

/**
 * The server of a static site: a program that runs in a box as apps do. So a link in a release leads only to files in the box.
 * Its arguments are the folder, below its working directory, and the file that answers unknown paths.
 */

const [folder = ".", fallback] = process.argv.slice(2);
const { PORT, HOST = "127.0.0.1" } = process.env;
serveFolder(process.cwd(), { folder, fallback }, { port: Number(PORT), host: HOST }).catch(({ message }: Error) => {
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
});
