import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

interface PageFile {
  readonly type: string;
  readonly plain: Buffer;
  readonly br: Buffer | undefined;
  readonly gzip: Buffer | undefined;
}

/** `index.html` is the shell; every other name contains a hash of the content. */
export type PageFiles = ReadonlyMap<string, PageFile>;

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};

let loaded: Promise<PageFiles> | undefined;

/** The files of the page, read once per process. */
export function pageFiles(): Promise<PageFiles> {
  loaded ??= load().catch((error) => {
    loaded = undefined;
    throw error;
  });
  return loaded;
}

/** The file name of the page's program. It differs in every version of the page. */
export async function programOfPage(): Promise<string> {
  return [...(await pageFiles()).keys()].find((name) => /^app-.*\.js$/.test(name)) ?? "";
}

async function load(): Promise<PageFiles> {
  const built = await builtFiles();
  return new Map(
    [...built]
      .filter(([name]) => !/\.(br|gz)$/.test(name))
      .map(([name, plain]) => {
        const type = types[extname(name)] ?? "application/octet-stream";
        return [name, { type, plain, br: built.get(`${name}.br`), gzip: built.get(`${name}.gz`) }];
      }),
  );
}

/** The files that the build put into the package. When run from the sources, builds them now. */
async function builtFiles(): Promise<ReadonlyMap<string, Buffer>> {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "package.json"))) folder = dirname(folder);
  if (import.meta.url.endsWith(".ts")) {
    const { buildPage } = await import(pathToFileURL(join(folder, ".scripts/page.mjs")).href);
    return buildPage();
  }
  const built = join(folder, "dist/dashboard");
  return new Map(readdirSync(built).map((name) => [name, readFileSync(join(built, name))]));
}
