/**
 * State outside of the database that snapshots contain and forks copy. `save` returns plain data that stays unchanged.
 */
export interface Snapshotable {
  save(): unknown;
  load(saved: unknown): void;
}
