// The tests run as JavaScript: translated in each of their processes, the sources took more time than the tests.
import { chmodSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { entries, external, webFromNode } from "../.scripts/entries.mjs";
import { writePage } from "../.scripts/page.mjs";

/** The body of each transaction runs, is rolled back, and runs again: it may change nothing but rows. `TEST_RERUN=1` */
const transactionsTwice = {
  name: "transactions-twice",
  setup({ onLoad }) {
    onLoad({ filter: /\/lib\/store\/store\.ts$/ }, ({ path }) => {
      const [before, after, ...more] = readFileSync(path, "utf8").split("await engine.transaction(scope, async");
      if (after === undefined || more.length > 0) throw new Error("store.ts does not have one transaction");
      const twice = `const twice = (work: any) => async (connection: any) => {
        const control = (text: string) => connection.statement(text).run([]);
        await control("SAVEPOINT again");
        await work(connection);
        await control("ROLLBACK TO again");
        await control("RELEASE again");
        return work(connection);
      };\n`;
      return {
        contents: `${before}await engine.transaction(scope, twice(async${after.replace("\n      });", "\n      }));")}\n${twice}`,
        loader: "ts",
      };
    });
  },
};

/** Other work of the process goes on between the statements of a transaction, by a seed. `TEST_INTERLEAVE=1` */
const timeBetweenStatements = {
  name: "time-between-statements",
  setup({ onLoad }) {
    onLoad({ filter: /\/lib\/store\/pauses\.ts$/ }, () => ({
      contents: `import { createPauses } from "${resolve("test/helpers/pauses.ts")}";
        export const pauses = { current: createPauses(${Number(process.env.TEST_INTERLEAVE)}) };`,
      loader: "ts",
    }));
  },
};

/** Services that would be in memory get a database of PostgreSQL. `npm run test:postgres` */
const memoryIsPostgres = {
  name: "memory-is-postgres",
  setup({ onLoad }) {
    onLoad({ filter: /\/lib\/service\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, "utf8");
      const changed = text
        .replace("parseOptions(options)", "parseOptions(await onPostgres(options))")
        .replace("service: createFacade(host)", "service: freeing(createFacade(host), settings)");
      if (changed.split(/onPostgres\(|freeing\(/).length !== 3) throw new Error("service.ts does not read as expected");
      const imports = `import { freeing, onPostgres } from "${resolve("test/postgres/on-postgres.ts")}";\n`;
      return { contents: imports + changed, loader: "ts" };
    });
  },
};

const named = (files) => Object.fromEntries(files.map((file) => [file.slice(0, -".ts".length), file]));

/**
 * Bundles the package as it is shipped with the programs that tests start (`*.child.ts`), and the tests, into `dist/` of
 * a folder that is a package as well: `test/spec/keys.test.ts` becomes `dist/test/spec/keys.test.js`, and whatever lies
 * in the folder may import "svc-server". It goes with this process. The crash suite needs no tests.
 */
export async function compile({ tests = true } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "svc-server-tests-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o755); // some tests run as nobody
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
      external: [...external, "esbuild", "oxc-parser", "playwright-core", "axe-core"],
      plugins: [
        webFromNode,
        ...(process.env.TEST_RERUN ? [transactionsTwice] : []),
        ...(process.env.TEST_INTERLEAVE ? [timeBetweenStatements] : []),
        ...(process.env.SVC_TEST_POSTGRES ? [memoryIsPostgres] : []),
      ],
    });
  // Bundled separately, because code shared by more entries is split into more files, and each file costs time at every
  // start.
  await Promise.all([
    bundle({ ...entries, ...named(files.filter((file) => file.endsWith(".child.ts"))) }),
    tests && bundle(named(files.filter((file) => file.endsWith(".test.ts")))),
    writePage(join(folder, "dist/dashboard")),
  ]);
  return folder;
}
