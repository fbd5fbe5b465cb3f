import { lstat, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { acceptedEncoding } from "../../kernel/text/file-request.ts";
import { mediaTypeOf } from "./media-types.ts";

/** The encodings of compressed files, the best one first. */
const encodings = {
  br: (bytes: Buffer) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: (bytes: Buffer) => gzipSync(bytes, { level: 9 }),
} as const;
type Encoding = keyof typeof encodings;
const names = Object.keys(encodings) as Encoding[];

/** A compressed file lies beside its original, hidden, so that no path of the site leads to it. */
const pathOf = (path: string, encoding: Encoding) => join(dirname(path), `.${basename(path)}.${encoding}`);

const isText = /^text\/|[/+](json|xml|wasm|javascript)\b|^font\/(ttf|otf)|fontobject|svg|icon/;
const [smallest, largest] = [1024, 64 * 1024 ** 2];

/** Compresses the files of a site that get smaller. Links are left out. */
export async function compressFolder(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    const isHidden = entry.name.startsWith(".") && entry.name !== ".well-known";
    if (entry.isDirectory() && !isHidden && entry.name !== "node_modules") await compressFolder(path);
    if (!entry.isFile() || isHidden || !isText.test(mediaTypeOf(path))) continue;
    const { size } = await stat(path);
    const bytes = size < smallest || size > largest ? undefined : await readFile(path);
    for (const name of names) {
      const [to, temporary] = [pathOf(path, name), `${pathOf(path, name)}.part`];
      await rm(to, { force: true });
      const compressed = bytes && encodings[name](bytes);
      if (!compressed || compressed.length > 0.9 * size) continue;
      await writeFile(temporary, compressed);
      await rename(temporary, to);
    }
  }
}

/** The compressed files of a file; the accepted one is undefined if there is none. */
export async function compressedOf(path: string, accepted: string) {
  const all = await Promise.all(
    names.map(async (encoding) => {
      const at = pathOf(path, encoding);
      const info = await lstat(at).catch(() => undefined);
      return info?.isFile() ? [{ encoding, path: at, info }] : [];
    }),
  );
  const compressed = all.flat();
  const chosen = acceptedEncoding(
    accepted,
    compressed.map(({ encoding }) => encoding),
  );
  return { isAny: compressed.length > 0, accepted: compressed.find(({ encoding }) => encoding === chosen) };
}
