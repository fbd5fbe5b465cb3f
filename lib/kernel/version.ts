import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of this package. The sources and the bundle are both below it. */
export function packageFolder(): string {
  // A bundle in the form of CommonJS has no URL.
  const here = import.meta.url as string | undefined;
  let folder = here === undefined ? "/" : dirname(fileURLToPath(here));
  while (!existsSync(join(folder, "schema/0001_service.sql"))) {
    if (dirname(folder) === folder)
      throw new Error(
        "svc-server cannot find its own files, because a bundler has moved its code; make it external, so that it stays in node_modules: --external:svc-server in esbuild, serverExternalPackages in Next.js",
      );
    folder = dirname(folder);
  }
  return folder;
}

/** The text of a file in this package. */
export const packageFile = (path: string): string => readFileSync(join(packageFolder(), path), "utf8");

let cached: string | undefined;

/** The version of this package. */
export function version(): string {
  cached ??= (JSON.parse(packageFile("package.json")) as { version: string }).version;
  return cached;
}
