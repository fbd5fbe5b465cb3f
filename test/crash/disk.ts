import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Random } from "../../lib/kernel/random.ts";

/** One call that changed a file, as the shim recorded it. */
export interface Call {
  readonly name: "create" | "mkdir" | "write" | "truncate" | "sync" | "rename" | "remove";
  /** An offset for `write`, a size for `truncate`. */
  readonly at: number;
  readonly bytes: Buffer;
  readonly path: string;
  readonly other: string;
}

/** Reads the log of the shim. */
export function* readCalls(log: Buffer): Generator<Call> {
  for (let start = 0; start < log.length; ) {
    const end = log.indexOf("\n", start);
    const [name = "", at, length, path = "", other = ""] = log.toString("utf8", start, end).split("\t");
    const size = name === "write" ? Number(length) : 0;
    yield { name: name as Call["name"], at: Number(at), bytes: log.subarray(end + 1, end + 1 + size), path, other };
    start = end + 1 + size;
  }
}

/** A change of a file's bytes: some at a place, or without bytes a new size. */
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
  /** The names after each change that is not durable yet. */
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
 * A disk that loses what was not synced. The model: a sync makes all earlier changes of that file, or of the names in that
 * folder, durable, and nothing else. In a power cut each other change of a file is lost or kept by itself, and a write may
 * be torn at a sector; the names in a folder change in order, so some of the last changes are lost.
 */
export class Disk {
  readonly #path: string;
  readonly #root = new Folder();
  /** What the last cut wrote. */
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
      // Within a folder it is one change.
      if (dirname(path) !== dirname(other)) throw new Error(`${path} moved to another folder, ${other}`);
      this.#rename(path, (names, own) => names.delete(own) && names.set(basename(other), node));
    } else if (name === "sync") {
      if (node instanceof File) node.durable = changed(node.durable, node.pending);
      else node.durable = node.now;
      node.pending = [];
    } else if (node instanceof File) node.pending.push(name === "write" ? { at, bytes } : { at });
  }

  /**
   * Writes what is left after a power cut to a folder, which holds nothing or an earlier cut as it was written; without
   * `random` all that was not synced is lost.
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
    // A reader rolls a journal back, and so changes its database.
    this.#cut = [...files.keys()].some((path) => path.endsWith("-journal")) ? new Map() : files;
    for (const path of [...before.keys()].reverse())
      if (!files.has(path)) rmSync(path, { recursive: true, force: true });
    // Most files are those of the cut before: their bytes are the same buffer.
    write(new Map([...files].filter(([path, bytes]) => !before.has(path) || before.get(path) !== bytes)));
  }

  /** Writes everything, as a program sees it that runs on. */
  copy(target: string): void {
    const all = (changes: readonly Change[]) => changes;
    write(contents(this.#root, target, (folder) => folder.now, all));
  }
}

/** One write in five that is kept is kept in part. */
function torn({ at, bytes }: Change, random: Random): Change {
  if (!bytes || random.fraction() > 0.2) return bytes ? { at, bytes } : { at };
  return { at, bytes: bytes.subarray(0, Math.floor((random.fraction() * bytes.length) / sector) * sector) };
}

/** The folders below a path, without bytes, and the files. */
type Files = ReadonlyMap<string, Buffer | undefined>;

function contents(
  folder: Folder,
  path: string,
  names: (folder: Folder) => Map<string, File | Folder>,
  kept: (changes: readonly Change[]) => readonly Change[],
): Files {
  const below = [...names(folder)].flatMap(([name, node]): [string, Buffer | undefined][] => {
    // The acknowledgements are no file of the server.
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

/** The bytes of every file of the server below a folder, but for the index of the WAL, which the next start makes anew. */
export function filesIn(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && !/-shm$|^acks$/.test(entry.name),
  );
  const paths = files.map(({ parentPath, name }) => join(parentPath, name));
  return Object.fromEntries(paths.sort().map((path) => [path.slice(folder.length), readFileSync(path, "base64")]));
}
