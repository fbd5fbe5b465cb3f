import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The text of a file in this package. Works in the sources and in the bundle. */
export function packageFile(path: string): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "package.json"))) folder = dirname(folder);
  return readFileSync(join(folder, path), "utf8");
}

let known: string | undefined;

/** The version of this package. */
export function version(): string {
  known ??= (JSON.parse(packageFile("package.json")) as { version: string }).version;
  return known;
}
