import { opendir } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { packTar, type TarSource } from "modern-tar/fs";

interface Entry {
  readonly path: string;
  readonly isFolder: boolean;
}

/** The library keeps all entries of an archive in memory, so a large folder becomes several archives. */
const batch = 500;
/** An archive ends with this many zero bytes. */
const ending = 1024;

/**
 * The files of a folder as an archive, or only those that are included. Links stay links, so the archive contains
 * nothing from outside the folder.
 */
export const tarOf = (root: string, isIncluded: (path: string) => boolean): Readable =>
  Readable.from(joined(root, isIncluded), { objectMode: false });

async function* joined(root: string, isIncluded: (path: string) => boolean): AsyncGenerator<Buffer> {
  let held: Buffer = Buffer.alloc(ending);
  for await (const entries of batches(root, isIncluded)) {
    held = Buffer.alloc(0);
    for await (const chunk of pack(root, entries)) {
      const bytes = Buffer.concat([held, chunk]);
      held = bytes.subarray(-ending);
      if (bytes.length > ending) yield bytes.subarray(0, -ending);
    }
  }
  yield held;
}

async function* batches(root: string, isIncluded: (path: string) => boolean): AsyncGenerator<Entry[]> {
  let entries: Entry[] = [];
  const folders = [""];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop())
    for await (const entry of await opendir(join(root, folder))) {
      const [path, isFolder] = [join(folder, entry.name), entry.isDirectory()];
      if (isFolder) folders.push(path);
      if (isIncluded(path)) entries.push({ path, isFolder });
      if (entries.length < batch) continue;
      yield entries;
      entries = [];
    }
  if (entries.length > 0) yield entries;
}

function pack(root: string, entries: readonly Entry[]): Readable {
  // The library shortens a name such as `\Dockerfile`, which would replace the Dockerfile. So it sees a number instead.
  const sources = entries.map(({ path, isFolder }, i): TarSource => {
    // A source of the type "directory" would add excluded files.
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
