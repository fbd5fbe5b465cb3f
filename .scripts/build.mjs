// `npm run build`: creates dist/ with the bundles, their source maps, the declarations for the public API, and the
// licences of bundled packages. Bundling makes the import fast: Kysely alone has 279 files.
import { execFileSync } from "node:child_process";
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, normalize, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { entries, external, serviceInOneChunk, webFromNode } from "./entries.mjs";
import { writePage } from "./page.mjs";

const out = "dist";
const { dependencies } = JSON.parse(readFileSync("package.json", "utf8"));
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

execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", "-p", "lib"], { stdio: "inherit" });
keepReachable(["lib/index.d.ts", "lib/client.d.ts", "lib/testing.d.ts"].map((entry) => join(out, entry)));
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

/** Removes declarations that no entry uses. */
function keepReachable(entries) {
  const reached = new Set();
  const visit = (file) => {
    if (reached.has(file)) return;
    reached.add(file);
    const text = opaque(readFileSync(file, "utf8")).replaceAll(/(from "|import\(")(\.{1,2}\/[^"]+)\.ts"/g, '$1$2.js"');
    writeFileSync(file, text);
    const [cited] = /\b(SPEC|CONTRACT|ARCHITECTURE)\b.*/.exec(text) ?? [];
    if (cited) throw new Error(`${file} cites a document that the package lacks: ${cited}`);
    for (const [, path] of text.matchAll(/(?:from |import\()"(\.{1,2}\/[^"]+)\.js"/g))
      visit(normalize(join(dirname(file), `${path}.d.ts`)));
  };
  for (const entry of entries) visit(normalize(entry));
  for (const name of readdirSync(out, { recursive: true })) {
    const file = normalize(join(out, String(name)));
    if (file.endsWith(".d.ts") && !reached.has(file)) rmSync(file);
  }
}

/** Users do not have the types of bundled packages, so these become `any` in declarations. */
function opaque(text) {
  return text.replaceAll(/^import (?:type )?\{([^}]+)\} from "([^".][^"]*)";$/gm, (whole, names, from) => {
    if (
      from.startsWith("node:") ||
      Object.keys(dependencies).some((name) => name === from && name !== "better-sqlite3")
    )
      return whole;
    const own = names.split(",").map((name) => name.trim().replace(/^type /, ""));
    return own.map((name) => `type ${name}<_A = any, _B = any> = any;`).join("\n");
  });
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
