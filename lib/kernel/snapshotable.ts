/**
 * State that lives beside the rows, so that a snapshot can keep it and a fork can have its own. What `save` gives is
 * plain data that later changes do not touch.
 */
export interface Snapshotable {
  save(): unknown;
  load(kept: unknown): void;
}
