import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The version of the package that this file belongs to. */
export function version(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "package.json"))) folder = dirname(folder);
  return (
    JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
      version: string;
    }
  ).version;
}
