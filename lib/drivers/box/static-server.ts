import { serveFolder } from "./static-site.ts";

/**
 * The server of a static site. It runs in a box like an app, so a link in a release can only lead to files in the box.
 * Arguments: the folder, below the working directory, and the file that answers unknown paths.
 */

const [folder = ".", fallback] = process.argv.slice(2);
const { PORT, HOST = "127.0.0.1" } = process.env;
serveFolder(process.cwd(), { folder, fallback }, { port: Number(PORT), host: HOST }).catch(({ message }: Error) => {
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
});
