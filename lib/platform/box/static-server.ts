import { compressFolder } from "./compressed-files.ts";
import { serveFolder } from "./static-site.ts";

/**
 * The server of a static site. It runs in a box like an app, so a link in a release can only lead to files in the box.
 * Arguments: the folder, below the working directory, and the file that answers unknown paths; or `--compress` and the
 * folder, after a build.
 */

const [folder = ".", fallback] = process.argv.slice(2);
const { PORT, HOST = "127.0.0.1" } = process.env;
const done =
  folder === "--compress"
    ? compressFolder(fallback ?? ".")
    : serveFolder(process.cwd(), { folder, fallback }, { port: Number(PORT), host: HOST });
done.catch(({ message }: Error) => {
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
});
