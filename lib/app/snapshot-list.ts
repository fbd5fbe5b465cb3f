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
  /** Throws a 404 for an unknown snapshot. */
  get(id: string): Snapshot;
  /** Oldest first. */
  list(): StoredSnapshot[];
  /** Throws a 404 for an unknown snapshot. */
  remove(id: string): void;
}

/** A fork starts with its parent's snapshots. */
export function createSnapshotList(inherited?: SnapshotList): SnapshotList {
  const entries = new Map<string, Entry>(inherited?.entries);
  /** The number of snapshots ever taken, so that no identifier repeats. */
  let count = inherited?.count() ?? 0;
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
    get(id) {
      const found = entries.get(id);
      if (!found) throw notFound("snapshot");
      return found.snapshot;
    },
    list: () =>
      [...entries].map(([id, { name, snapshot }]) => ({
        id,
        name,
        now: snapshot.now,
        bytes: snapshot.database.byteLength,
      })),
    remove(id) {
      if (!entries.delete(id)) throw notFound("snapshot");
    },
  };
}
