// Compiles the tests to JavaScript. Translating the sources in each test process took longer than the tests.
import { chmodSync, cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { entries, external, webFromNode } from "../.scripts/entries.mjs";
import { writePage } from "../.scripts/page.mjs";

/** Replaces a module with one of ours, which may import the original. */
const instead = (of, by) => ({
  name: `instead-of-${of}`,
  setup({ onResolve }) {
    const [real, ours] = [resolve(of), resolve(by)];
    onResolve({ filter: /^\.{1,2}\/.*\.ts$/ }, ({ path, resolveDir, importer }) =>
      resolve(resolveDir, path) === real && importer !== ours ? { path: ours } : undefined,
    );
  },
});

const named = (files) => Object.fromEntries(files.map((file) => [file.slice(0, -".ts".length), file]));

/**
 * Bundles the package as shipped, the programs that tests start (`*.child.ts`), and the tests. The output goes to
 * `dist/` of a temporary package: `test/spec/keys.test.ts` becomes `dist/test/spec/keys.test.js`, and files in the
 * package may import "svc-server". The folder is removed when this process exits. The crash suite needs no tests.
 */
export async function compile({ tests = true } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "svc-server-tests-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o755); // Some tests run as nobody.
  symlinkSync(resolve("node_modules"), join(folder, "node_modules"), "junction");
  for (const name of ["package.json", "schema", "fixtures/demo.json"])
    cpSync(name, join(folder, name), { recursive: true });
  const files = readdirSync("test", { recursive: true }).map((name) => join("test", String(name)));
  const bundle = (entryPoints) =>
    build({
      entryPoints,
      outdir: join(folder, "dist"),
      chunkNames: "chunks/[name]-[hash]",
      bundle: true,
      splitting: true,
      sourcemap: true,
      platform: "node",
      format: "esm",
      target: "node20.19",
      external: [
        ...external,
        // This shares an API package that is not bundled.
        "@opentelemetry/*",
        "esbuild",
        "oxc-parser",
        "playwright-core",
        "axe-core",
        "oidc-provider",
        "@modelcontextprotocol/client",
        "yaml",
      ],
      plugins: [
        webFromNode,
        // `TEST_RERUN=1`: a transaction's body may only change rows, because it runs twice.
        ...(process.env.TEST_RERUN ? [instead("lib/store/store.ts", "test/helpers/store-twice.ts")] : []),
        // `TEST_INTERLEAVE=1`: other work runs between the statements of a transaction, chosen by a seed.
        ...(process.env.TEST_INTERLEAVE
          ? [
              instead("lib/store/store.ts", "test/helpers/store-interleaved.ts"),
              instead("lib/store/sqlite/group-commit.ts", "test/helpers/patient-group-commit.ts"),
            ]
          : []),
        // `npm run test:postgres`
        ...(process.env.SVC_TEST_POSTGRES ? [instead("lib/service.ts", "test/postgres/service.ts")] : []),
      ],
    });
  // Bundled separately: code that more entries share is split into more files, and each file costs time at every start.
  await Promise.all([
    bundle({ ...entries, ...named(files.filter((file) => file.endsWith(".child.ts"))) }),
    tests && bundle(named(files.filter((file) => file.endsWith(".test.ts")))),
    writePage(join(folder, "dist/dashboard")),
  ]);
  return folder;
}
