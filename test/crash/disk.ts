import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Random } from "../../lib/kernel/random.ts";

/** One call that changed a file, as the shim recorded it. */
export interface Call {
  readonly name: "create" | "mkdir" | "write" | "truncate" | "sync" | "rename" | "remove";
  /** The offset of a `write`, or the size of a `truncate`. */
  readonly at: number;
  readonly bytes: Buffer;
  readonly path: string;
  readonly other: string;
}

/** Parses the log of the shim. */
export function* readCalls(log: Buffer): Generator<Call> {
  for (let start = 0; start < log.length; ) {
    const end = log.indexOf("\n", start);
    const [name = "", at, length, path = "", other = ""] = log.toString("utf8", start, end).split("\t");
    const size = name === "write" ? Number(length) : 0;
    yield { name: name as Call["name"], at: Number(at), bytes: log.subarray(end + 1, end + 1 + size), path, other };
    start = end + 1 + size;
  }
}

/** A change of a file: bytes at an offset, or without bytes a new size. */
interface Change {
  readonly at: number;
  readonly bytes?: Buffer;
}
class File {
  durable: Buffer = Buffer.alloc(0);
  pending: Change[] = [];
}
class Folder {
  durable = new Map<string, File | Folder>();
  /** The names in the folder after each change that is not yet durable. */
  pending: Map<string, File | Folder>[] = [];
  get now(): Map<string, File | Folder> {
    return this.pending.at(-1) ?? this.durable;
  }
}

function changed(before: Buffer, changes: readonly Change[]): Buffer {
  if (changes.length === 0) return before;
  const ends = changes.map(({ at, bytes }) => at + (bytes?.length ?? 0));
  const after = Buffer.alloc(ends.reduce((most, end) => Math.max(most, end), before.length));
  before.copy(after);
  let length = before.length;
  for (const { at, bytes } of changes) {
    if (bytes) bytes.copy(after, at);
    else if (at < length) after.fill(0, at, length);
    length = bytes ? Math.max(length, at + bytes.length) : at;
  }
  return after.subarray(0, length);
}

const sector = 512;

/**
 * A disk that loses unsynced changes. The model: a sync makes all earlier changes of one file durable, or those of the
 * names in one folder, and nothing else. A power cut loses or keeps each other change of a file independently, and may
 * tear a write at a sector. The names in a folder change in order, so a power cut loses only the last changes.
 */
export class Disk {
  readonly #path: string;
  readonly #root = new Folder();
  /** The files that the last cut wrote. */
  #cut: Files = new Map();
  constructor(path: string) {
    this.#path = path;
  }

  #find(path: string): File | Folder | undefined {
    if (path === this.#path) return this.#root;
    const folder = this.#find(dirname(path));
    return folder instanceof Folder ? folder.now.get(basename(path)) : undefined;
  }
  #rename(path: string, change: (names: Map<string, File | Folder>, name: string) => void): void {
    const folder = this.#find(dirname(path));
    if (!(folder instanceof Folder)) throw new Error(`the folder of ${path} was never made`);
    const names = new Map(folder.now);
    change(names, basename(path));
    folder.pending.push(names);
  }

  apply({ name, at, bytes, path, other }: Call): void {
    const node = this.#find(path);
    if (name === "create") this.#rename(path, (names, own) => names.set(own, new File()));
    else if (name === "mkdir") this.#rename(path, (names, own) => names.set(own, new Folder()));
    else if (name === "remove") this.#rename(path, (names, own) => names.delete(own));
    else if (!node) throw new Error(`${name} of ${path}, which was never made`);
    else if (name === "rename") {
      // A rename within one folder is a single change.
      if (dirname(path) !== dirname(other)) throw new Error(`${path} moved to another folder, ${other}`);
      this.#rename(path, (names, own) => names.delete(own) && names.set(basename(other), node));
    } else if (name === "sync") {
      if (node instanceof File) node.durable = changed(node.durable, node.pending);
      else node.durable = node.now;
      node.pending = [];
    } else if (node instanceof File) node.pending.push(name === "write" ? { at, bytes } : { at });
  }

  /**
   * Writes the state after a power cut to a folder. The folder is empty, or holds an earlier cut, unchanged. Without
   * `random` all unsynced changes are lost.
   */
  cut(target: string, random?: Random): void {
    const lost = (changes: readonly Change[]) =>
      random ? changes.filter(() => random.fraction() < 0.5).map((change) => torn(change, random)) : [];
    const names = (folder: Folder) => {
      const kept = random ? Math.floor(random.fraction() * (folder.pending.length + 1)) : 0;
      return folder.pending[kept - 1] ?? folder.durable;
    };
    const files = contents(this.#root, target, names, lost);
    const before = this.#cut;
    // A reader rolls a journal back, which changes the database on the disk.
    this.#cut = [...files.keys()].some((path) => path.endsWith("-journal")) ? new Map() : files;
    for (const path of [...before.keys()].reverse())
      if (!files.has(path)) rmSync(path, { recursive: true, force: true });
    // Most files are the same as in the cut before: they share the same buffer.
    write(new Map([...files].filter(([path, bytes]) => !before.has(path) || before.get(path) !== bytes)));
  }

  /** Writes all changes, synced or not, as a running program sees them. */
  copy(target: string): void {
    const all = (changes: readonly Change[]) => changes;
    write(contents(this.#root, target, (folder) => folder.now, all));
  }
}

/** Tears one in five of the kept writes. */
function torn({ at, bytes }: Change, random: Random): Change {
  if (!bytes || random.fraction() > 0.2) return bytes ? { at, bytes } : { at };
  return { at, bytes: bytes.subarray(0, Math.floor((random.fraction() * bytes.length) / sector) * sector) };
}

/** The folders (without bytes) and the files below a path. */
type Files = ReadonlyMap<string, Buffer | undefined>;

function contents(
  folder: Folder,
  path: string,
  names: (folder: Folder) => Map<string, File | Folder>,
  kept: (changes: readonly Change[]) => readonly Change[],
): Files {
  const below = [...names(folder)].flatMap(([name, node]): [string, Buffer | undefined][] => {
    // The load writes the acknowledgements, not the server.
    if (name === "acks") return [];
    if (node instanceof Folder) return [...contents(node, join(path, name), names, kept)];
    return [[join(path, name), changed(node.durable, kept(node.pending))]];
  });
  return new Map([[path, undefined], ...below]);
}

function write(files: Files): void {
  for (const [path, bytes] of files) {
    if (bytes) writeFileSync(path, bytes, { mode: 0o600 });
    else mkdirSync(path, { recursive: true, mode: 0o700 });
  }
}

/**
 * The bytes of every file of the server below a folder, except the index of the WAL, which the next start rebuilds.
 */
export function filesIn(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && !/-shm$|^acks$/.test(entry.name),
  );
  const paths = files.map(({ parentPath, name }) => join(parentPath, name));
  return Object.fromEntries(paths.sort().map((path) => [path.slice(folder.length), readFileSync(path, "base64")]));
}
