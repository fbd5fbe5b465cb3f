import * as v from "valibot";
import { record, textOf } from "../../kernel/validation.ts";
import type { Differences } from "../../store/sqlite/image-differences.ts";
import type { Forks } from "../fork-list.ts";
import type { StoredSnapshot } from "../snapshot-list.ts";
import { type ControlCall, callsWith } from "./call.ts";

/** Takes snapshots of the whole state and restores them. Rejects with 404 for an unknown snapshot. */
export interface Snapshots {
  snapshot(options?: { readonly name?: string | undefined }): Promise<{ readonly id: string; readonly now: string }>;
  restore(id: string): Promise<{ readonly id: string; readonly now: string }>;
  /** Restores the state just after the start. Rejects with 409 if that state was too large to keep. */
  reset(): Promise<{ readonly now: string }>;
  list(): StoredSnapshot[];
  remove(id: string): void;
  /** The records that differ between two snapshots. Without `to`, compares a snapshot with the present state. */
  compare(of: { readonly from: string; readonly to?: string | undefined }): Promise<Comparison>;
}

/** The records that were added, changed and removed from one state to the other. */
export interface Comparison extends Differences {
  readonly from: { readonly id: string; readonly now: string };
  /** The id is null for the present state. */
  readonly to: { readonly id: string | null; readonly now: string };
}

/** A world: a separate state that the header `X-Svc-World` selects. */
export interface ListedWorld {
  readonly name: string;
  /** The time on its clock. */
  readonly now: string;
}

export interface StatePorts {
  readonly snapshots: Snapshots;
  readonly forks: Pick<Forks, "create" | "list" | "remove">;
  readonly worlds: {
    list(): Promise<ListedWorld[]>;
    remove(name: string): Promise<void>;
  };
}

const once = v.string("must be given once");
export const snapshotOptions = record({ name: v.optional(textOf(1, 100)) });
export const comparison = record({ from: once, to: v.optional(once) });
export const forkOptions = record({
  from: v.optional(v.string("must be the id of a snapshot")),
  muted: v.optional(v.boolean("must be true or false")),
});

const call = callsWith<StatePorts>();

export const stateCalls: readonly ControlCall<StatePorts>[] = [
  call({
    id: "snapshots.list",
    summary: "List the last hundred snapshots, oldest first",
    method: "GET",
    path: "snapshots",
    run: (_, { snapshots }) => snapshots.list(),
  }),
  call({
    id: "snapshots.create",
    summary: "Take a snapshot of the whole state, and print its ID",
    method: "POST",
    path: "snapshots",
    body: snapshotOptions,
    status: 201,
    run: ({ body }, { snapshots }) => snapshots.snapshot(body),
  }),
  call({
    id: "snapshots.restore",
    summary: "Restore a snapshot",
    method: "POST",
    path: "snapshots/{id}/restore",
    run: ({ params: { id = "" } }, { snapshots }) => snapshots.restore(id),
  }),
  call({
    id: "snapshots.remove",
    summary: "Remove a snapshot, and list the others",
    method: "DELETE",
    path: "snapshots/{id}",
    run({ params: { id = "" } }, { snapshots }) {
      snapshots.remove(id);
      return snapshots.list();
    },
  }),
  call({
    method: "GET",
    path: "compare",
    query: comparison,
    run: ({ query }, { snapshots }) => snapshots.compare(query),
  }),
  call({
    id: "reset",
    summary: "Reset the emulator to its state just after the start",
    method: "POST",
    path: "reset",
    run: (_, { snapshots }) => snapshots.reset(),
  }),
  call({
    id: "forks.list",
    summary: "List the forks, each with the address that it listens at",
    method: "GET",
    path: "forks",
    run: (_, { forks }) => forks.list(),
  }),
  call({
    id: "forks.create",
    summary: "Fork the emulator: an independent copy of the whole state, which listens at an address of its own",
    method: "POST",
    path: "forks",
    body: forkOptions,
    status: 201,
    run: ({ body }, { forks }) => forks.create(body),
  }),
  call({
    id: "forks.remove",
    summary: "Remove a fork, and list the others",
    method: "DELETE",
    path: "forks/{id}",
    async run({ params: { id = "" } }, { forks }) {
      await forks.remove(id);
      return forks.list();
    },
  }),
  call({
    id: "worlds.list",
    summary: "List the worlds, each with the name in the header X-Svc-World that selects it",
    method: "GET",
    path: "worlds",
    run: (_, { worlds }) => worlds.list(),
  }),
  call({
    id: "worlds.remove",
    summary: "Remove a world, and list the others",
    method: "DELETE",
    path: "worlds/{name}",
    async run({ params: { name = "" } }, { worlds }) {
      await worlds.remove(name);
      return worlds.list();
    },
  }),
];
