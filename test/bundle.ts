import { chmodSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));

/** A program as one file, beside its worker as it is shipped: a fifth of a second to start, where its sources take a whole one. */
export async function bundle(entry: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "svc-bundle-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o755);
  for (const name of ["node_modules", "package.json", "schema"]) symlinkSync(join(root, name), join(folder, name));
  await build({
    entryPoints: { "bin/program": join(root, entry), "lib/painting": join(root, "lib/drivers/painter/worker.ts") },
    outdir: folder,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    external: ["ws"],
  });
  return join(folder, "bin/program.js");
}
