/** State outside of the database that snapshots contain and forks copy. `save` returns plain data. */
export interface Snapshotable {
  save(): unknown;
  load(saved: unknown): void;
}
