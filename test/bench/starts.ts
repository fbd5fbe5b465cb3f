import { existsSync } from "node:fs";
import { figure, repeated, timed } from "./figures.ts";

/**
 * One new process: the time to import the package, to create the first service, and to create later ones. The file to
 * import is given by URL, because a static import would load it before the measurement starts.
 */
const [url = ""] = process.argv.slice(2);
if (!url.startsWith("file:") || !existsSync(new URL(url))) throw new Error(`there is no file ${url}`);
let library: typeof import("../../lib/index.ts") | undefined;
const imported = await timed(async () => {
  library = await import(url);
});
const start = async () => {
  await (await library?.createService({ logLevel: "silent" }))?.close();
};
const first = await timed(start);
const warm = figure("warm", "ms", await repeated(50, start)).median;
process.stdout.write(JSON.stringify({ imported, first, warm }));
