// `npm run build`: creates dist/ with the bundles, their source maps, the declarations for the public API, and the
// licences of bundled packages. Bundling makes the import fast: Kysely alone has 279 files.
import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { entries, external, serviceInOneChunk, webFromNode } from "./entries.mjs";
import { writeFlatTypes } from "./flat-types.mjs";
import { writePage } from "./page.mjs";

const out = "dist";
rmSync(out, { recursive: true, force: true });

const { metafile } = await build({
  entryPoints: entries,
  outdir: out,
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20.19",
  sourcemap: true,
  // Stack traces refer to source lines. The source text itself would be a quarter of the package.
  sourcesContent: false,
  metafile: true,
  external,
  plugins: [webFromNode, serviceInOneChunk],
  logOverride: { "ignored-bare-import": "silent" },
  // Node decodes and parses every byte at each start. Names are kept for stack traces.
  minifyWhitespace: true,
  minifySyntax: true,
  lineLimit: 200,
  chunkNames: "chunks/[name]-[hash]",
});
chmodSync(join(out, "bin/svc-server.js"), 0o755);

// Jest on Node 20 cannot require ESM, and its tests are CommonJS by default. So everything is also built as one
// CommonJS file.
const names = ["index", "client", "testing"];
const { metafile: commonJs } = await build({
  stdin: { contents: names.map((name) => `export * as ${name} from "./lib/${name}.ts";`).join("\n"), resolveDir: "." },
  outfile: join(out, "cjs/all.cjs"),
  bundle: true,
  format: "cjs",
  platform: "node",
  target: "node20.19",
  external,
  plugins: [webFromNode],
  define: { "import.meta.url": "moduleUrl" },
  logOverride: { "empty-import-meta": "silent" },
  banner: { js: 'const moduleUrl = require("node:url").pathToFileURL(__filename).href;' },
  minify: true,
  metafile: true,
});
for (const name of names) {
  writeFileSync(join(out, `cjs/${name}.cjs`), `module.exports = require("./all.cjs").${name};\n`);
  writeFileSync(join(out, `cjs/${name}.d.cts`), await commonJsTypes(name));
}

const declarations = mkdtempSync(join(tmpdir(), "svc-server-types-"));
const emit = ["-p", "lib", "--outDir", declarations];
execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", ...emit], { stdio: "inherit" });
await writeFlatTypes(declarations, names, out);
rmSync(declarations, { recursive: true });
const page = await writePage(join(out, "dashboard"));
writeFileSync(
  join(out, "LICENSES.txt"),
  licences([...Object.keys({ ...metafile.inputs, ...commonJs.inputs }), ...page]),
);

/**
 * The declarations of a CommonJS entry. They import the types of the ES module. TypeScript allows that only in this
 * mode and only for types, so each value is declared by its type.
 */
async function commonJsTypes(name) {
  const from = `"../lib/${name}.js"`;
  const mode = 'with { "resolution-mode": "import" }';
  const all = `import(${from}, { ${mode.replace("with", "with:")} })`;
  const values = Object.entries(await import(pathToFileURL(resolve(out, `lib/${name}.js`)).href));
  const lines = values.flatMap(([value, given]) => [
    `export declare const ${value}: typeof ${all}.${value};`,
    ...(/^class\b/.test(String(given)) ? [`export type ${value} = ${all}.${value};`] : []),
  ]);
  return [`export type * from ${from} ${mode};`, ...lines, ""].join("\n");
}

/** MIT and similar licences must be shipped with the code. */
function licences(inputs) {
  const packages = new Set(
    inputs.map((input) => /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1]).filter(Boolean),
  );
  return [...packages]
    .sort()
    .map((name) => {
      const folder = join("node_modules", name);
      const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      const file = readdirSync(folder).find((one) => /^licen[sc]e/i.test(one));
      if (!file) throw new Error(`${name} has no licence text, so it cannot be bundled`);
      return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
    })
    .join(`\n${"-".repeat(80)}\n\n`);
}
