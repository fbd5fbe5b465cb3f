// The tests run as JavaScript: translated in each of their processes, the sources took more time than the tests.
import { chmodSync, cpSync, mkdtempSync, readdirSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { entries, external } from "../.scripts/entries.mjs";

/**
 * Bundles the package as it is shipped, every test, and every program that tests start (`*.child.ts`), with common
 * chunks, into `dist/` of a folder that is a package as well: `test/spec/keys.test.ts` becomes
 * `dist/test/spec/keys.test.js`, and whatever lies in the folder may import "svc-server".
 */
export async function compile() {
  const folder = mkdtempSync(join(tmpdir(), "svc-server-tests-"));
  chmodSync(folder, 0o755); // some tests run as nobody
  symlinkSync(resolve("node_modules"), join(folder, "node_modules"), "junction");
  for (const name of ["package.json", "schema", "fixtures/demo.json"])
    cpSync(name, join(folder, name), { recursive: true });
  const tests = readdirSync("test", { recursive: true })
    .map((name) => join("test", String(name)))
    .filter((file) => /\.(test|child)\.ts$/.test(file));
  await build({
    entryPoints: { ...entries, ...Object.fromEntries(tests.map((file) => [file.slice(0, -".ts".length), file])) },
    outdir: join(folder, "dist"),
    chunkNames: "chunks/[name]-[hash]",
    bundle: true,
    splitting: true,
    sourcemap: true,
    platform: "node",
    format: "esm",
    target: "node20.19",
    external: [...external, "esbuild", "oxc-parser"],
  });
  return folder;
}
