import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** A file of the folder that `test/run.mjs` compiled everything into: `bin/svc-server.js`, `lib/index.js`, … */
export function compiled(file: string): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "package.json"))) folder = dirname(folder);
  if (!existsSync(join(folder, file))) throw new Error(`${file} is not compiled; run this test by node test/run.mjs`);
  return join(folder, file);
}
