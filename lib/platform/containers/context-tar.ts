import { readdir } from "node:fs/promises";
import { join, relative } from "node:path";
import type { Readable } from "node:stream";
import { packTar, type TarSource } from "modern-tar/fs";

/**
 * The files of a folder as an archive, or only those that are included. Links stay links, so the archive contains
 * nothing from outside the folder.
 */
export async function tarOf(root: string, isIncluded: (path: string) => boolean): Promise<Readable> {
  const entries = (await readdir(root, { recursive: true, withFileTypes: true }))
    .map((entry) => ({ path: relative(root, join(entry.parentPath, entry.name)), isFolder: entry.isDirectory() }))
    .filter(({ path }) => isIncluded(path));
  // The library shortens a name such as `\Dockerfile`, which would replace the Dockerfile. So it sees a number instead.
  const sources = entries.map(({ path, isFolder }, i): TarSource => {
    // A source of the type "directory" would add what is not included.
    if (isFolder) return { type: "content", target: `${i}/`, content: "", mode: 0o755 };
    return { type: "file", target: String(i), source: join(root, path) };
  });
  return packTar(sources, {
    map({ name, ...header }) {
      const { path = "", isFolder } = entries[Number.parseInt(name, 10)] ?? {};
      return { ...header, name: isFolder ? `${path}/` : path, uid: 0, gid: 0 };
    },
  });
}
