// The dashboard's page: builds lib/dashboard/page/ as files with hashed names, and an `index.html` that loads them.
// `npm run build` writes them to dist/dashboard/. A service that runs from the sources builds them at the first request
// to /dashboard.
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { build } from "esbuild";

const root = resolve(fileURLToPath(import.meta.url), "../..");
const publicPath = "/dashboard/assets";

/** The files by name, with a `.br` and a `.gz` copy of each text file. */
export async function buildPage() {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: { app: "lib/dashboard/page/main.tsx", icon: "lib/dashboard/page/icon.svg" },
    outdir: "dist/dashboard",
    publicPath,
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    assetNames: "[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "browser",
    target: ["chrome123", "firefox120", "safari17.5"],
    tsconfig: "lib/dashboard/page/tsconfig.json",
    loader: { ".woff2": "file", ".svg": "copy" },
    minify: true,
    legalComments: "none",
    write: false,
    metafile: true,
  });
  const files = new Map(outputFiles.map(({ path, contents }) => [basename(path), Buffer.from(contents)]));
  const app = Object.values(metafile.outputs).find(({ entryPoint }) => entryPoint?.endsWith("main.tsx"));
  const chunks = app.imports.filter(({ kind }) => kind === "import-statement").map(({ path }) => basename(path));
  files.set("index.html", Buffer.from(shell([...files.keys()], chunks)));
  for (const [name, plain] of [...files]) {
    if (name.endsWith(".woff2")) continue;
    files.set(`${name}.br`, brotliCompressSync(plain));
    files.set(`${name}.gz`, gzipSync(plain, { level: 9 }));
  }
  return Object.assign(files, { inputs: Object.keys(metafile.inputs) });
}

/** Writes the files to a folder. Returns their source files. */
export async function writePage(folder) {
  const files = await buildPage();
  mkdirSync(folder, { recursive: true });
  for (const [name, bytes] of files) writeFileSync(join(folder, name), bytes);
  return files.inputs;
}

/** The document contains no inline script or style, because its policy forbids both. */
function shell(names, chunks) {
  const named = (start, end) => names.find((name) => name.startsWith(start) && name.endsWith(end));
  const fonts = names.filter((name) => name.endsWith(".woff2"));
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>svc-server</title>
<link rel="icon" href="${publicPath}/${named("icon-", ".svg")}">
${fonts.map((name) => `<link rel="preload" as="font" type="font/woff2" href="${publicPath}/${name}" crossorigin>`).join("\n")}
${chunks.map((name) => `<link rel="modulepreload" href="${publicPath}/${name}">`).join("\n")}
<link rel="stylesheet" href="${publicPath}/${named("app-", ".css")}">
<script type="module" src="${publicPath}/${named("app-", ".js")}"></script>
</head>
<body>
<div id="page"></div>
<noscript>The dashboard needs JavaScript. The interface under /v1 does not.</noscript>
</body>
</html>
`;
}
