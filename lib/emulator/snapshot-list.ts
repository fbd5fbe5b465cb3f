import { notFound } from "../kernel/errors.ts";

/**
 * A state at one time: its database and its state outside the rows. Immutable, so any number of states can start from
 * it.
 */
export interface Snapshot {
  readonly now: string;
  readonly database: Buffer;
  readonly beside: Readonly<Record<string, unknown>>;
  readonly apiKey: string | null;
}

/** A snapshot that a tester took. */
export interface StoredSnapshot {
  readonly id: string;
  readonly name: string | null;
  /** The time on the snapshot's clock. */
  readonly now: string;
  /** The size of the snapshot's database. */
  readonly bytes: number;
}

interface Entry {
  readonly name: string | null;
  readonly snapshot: Snapshot;
}

/** Each snapshot holds a whole database, so the oldest are dropped. */
const maxSnapshots = 100;

/** The snapshots of a service. */
export interface SnapshotList {
  readonly entries: ReadonlyMap<string, Entry>;
  count(): number;
  /** Returns the id of the new snapshot. */
  add(snapshot: Snapshot, name: string | null): string;
  /** The id of the snapshot with this id, else of the newest with this name. Throws a 404 for an unknown one. */
  idOf(idOrName: string): string;
  /** Takes an id or a name, as `idOf`. */
  get(idOrName: string): Snapshot;
  /** Oldest first. */
  list(): StoredSnapshot[];
  /** Takes an id or a name, as `idOf`. */
  remove(idOrName: string): void;
}

/** A fork starts with its parent's snapshots. */
export function createSnapshotList(inherited?: SnapshotList): SnapshotList {
  const entries = new Map<string, Entry>(inherited?.entries);
  /** The number of snapshots ever taken, so that no identifier repeats. */
  let count = inherited?.count() ?? 0;
  const find = (given: string): [string, Entry] => {
    const own = entries.get(given);
    const found = own ? ([given, own] as const) : [...entries].findLast(([, { name }]) => name === given);
    if (!found) throw notFound("snapshot");
    return [...found];
  };
  return {
    entries,
    count: () => count,
    add(snapshot, name) {
      count += 1;
      const id = `snap_${count}`;
      entries.set(id, { name, snapshot });
      for (const oldest of entries.keys()) if (entries.size > maxSnapshots) entries.delete(oldest);
      return id;
    },
    idOf: (given) => find(given)[0],
    get: (given) => find(given)[1].snapshot,
    list: () =>
      [...entries].map(([id, { name, snapshot }]) => ({
        id,
        name,
        now: snapshot.now,
        bytes: snapshot.database.byteLength,
      })),
    remove: (given) => void entries.delete(find(given)[0]),
  };
}
