import { notFound } from "../kernel/errors.ts";

/** A state at one time, in the database and outside. Immutable, so any number of states can start from it. */
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

interface Inherited {
  readonly entries: ReadonlyMap<string, Entry>;
  count(): number;
}

/** Beyond this number, the oldest are dropped: each holds a whole database. */
const maxSnapshots = 100;

export type SnapshotList = ReturnType<typeof createSnapshotList>;

/** A fork starts with its parent's snapshots. */
export function createSnapshotList(inherited?: Inherited) {
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
    entries: entries as Inherited["entries"],
    count: (): number => count,
    /** Returns the id of the new snapshot. */
    add(snapshot: Snapshot, name: string | null): string {
      count += 1;
      const id = `snap_${count}`;
      entries.set(id, { name, snapshot });
      for (const oldest of entries.keys()) if (entries.size > maxSnapshots) entries.delete(oldest);
      return id;
    },
    /** The id of the snapshot with this id, else of the newest with this name. Throws a 404 for an unknown one. */
    idOf: (idOrName: string): string => find(idOrName)[0],
    get: (idOrName: string): Snapshot => find(idOrName)[1].snapshot,
    /** Oldest first. */
    list: (): StoredSnapshot[] =>
      [...entries].map(([id, { name, snapshot }]) => ({
        id,
        name,
        now: snapshot.now,
        bytes: snapshot.database.byteLength,
      })),
    remove: (idOrName: string): void => void entries.delete(find(idOrName)[0]),
  };
}
