import { createReadStream } from "node:fs";
import { lstat, opendir, readlink } from "node:fs/promises";
import { join } from "node:path";

export interface TarEntry {
  /** Relative, with slashes. */
  readonly name: string;
  readonly kind: "file" | "folder" | "link";
  readonly mode?: number;
  readonly size?: number;
  readonly mtime_s?: number;
  /** The target of a link. */
  readonly target?: string;
}

const block = 512;
const types = { file: "0", folder: "5", link: "2" } as const;
const octal = (value: number, length: number) =>
  `${Math.floor(value)
    .toString(8)
    .padStart(length - 1, "0")}\0`;
/** An archive consists of whole blocks. */
const padding = (size: number) => Buffer.alloc((block - (size % block)) % block);

function header(name: string, type: string, { mode = 0o644, size = 0, mtime_s = 0, target = "" }: Partial<TarEntry>) {
  const bytes = Buffer.alloc(block);
  bytes.write(name, 0, 100);
  bytes.write(octal(mode, 8) + octal(0, 8) + octal(0, 8) + octal(size, 12) + octal(mtime_s, 12), 100, "latin1");
  bytes.write(`        ${type}`, 148, "latin1");
  bytes.write(target, 157, 100);
  bytes.write("ustar\u000000", 257, "latin1");
  const sum = bytes.reduce((all, one) => all + one, 0);
  bytes.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return bytes;
}

/** A record of an extended header: its length (including the length field), a key and its value. */
function extended(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const size = Buffer.byteLength(rest);
  const length = size + String(size + String(size).length).length;
  return `${length}${rest}`;
}

/** The header blocks of an entry. A long or non-ASCII name gets an extended header. */
export function tarHeader(entry: TarEntry): Buffer {
  const { kind, target = "" } = entry;
  const name = kind === "folder" ? `${entry.name}/` : entry.name;
  const isPlain = (text: string) => text.length <= 100 && /^[\x20-\x7e]*$/.test(text);
  const records = [
    ...(isPlain(name) ? [] : [extended("path", name)]),
    ...(isPlain(target) ? [] : [extended("linkpath", target)]),
  ].join("");
  const own = header(isPlain(name) ? name : "long", types[kind], entry);
  if (records === "") return own;
  const content = Buffer.from(records);
  return Buffer.concat([header("extended", "x", { size: content.length }), content, padding(content.length), own]);
}

/** A small file as a complete entry. */
export function tarFile(name: string, content: string | Buffer, mode = 0o644): Buffer {
  const bytes = Buffer.from(content);
  return Buffer.concat([tarHeader({ name, kind: "file", mode, size: bytes.length }), bytes, padding(bytes.length)]);
}

export const tarEnd = Buffer.alloc(2 * block);

/** The files of a folder as an archive. Links stay links, so the archive contains nothing from outside the folder. */
export async function* tarOf(root: string, isIncluded: (path: string) => boolean): AsyncGenerator<Buffer> {
  const waiting = [""];
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    for await (const entry of await opendir(join(root, folder))) {
      const name = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) waiting.push(name);
      if (!isIncluded(name)) continue;
      const path = join(root, name);
      const { mode, size, mtimeMs } = await lstat(path);
      const common = { name, mode: mode & 0o777, mtime_s: Math.max(0, mtimeMs / 1000) };
      if (entry.isDirectory()) yield tarHeader({ ...common, kind: "folder" });
      else if (entry.isSymbolicLink()) yield tarHeader({ ...common, kind: "link", target: await readlink(path) });
      else if (entry.isFile()) {
        yield tarHeader({ ...common, kind: "file", size });
        for await (const chunk of createReadStream(path, { end: Math.max(0, size - 1) })) yield chunk as Buffer;
        yield padding(size);
      }
    }
  }
  yield tarEnd;
}
