import { featureJobs } from "../../lib/composition/features.ts";
import { operations } from "../../lib/composition/operations.ts";
import { lifecycle as deliveries, endpointLifecycle as endpoints } from "../../lib/features/deliveries/states.ts";
import { lifecycle as deployments } from "../../lib/features/deployments/states.ts";
import { lifecycle as generations } from "../../lib/features/generations/states.ts";
import { lifecycle as projects } from "../../lib/features/projects/states.ts";
import { lifecycle as users } from "../../lib/features/users/states.ts";
import { pruneKind } from "../../lib/jobs/periodic.ts";
import { type Operation, problemsOf } from "../../lib/kernel/operation.ts";
import type { Machine } from "../../lib/kernel/state-machine.ts";

/** All that the simulation should reach: each declared refusal, move and end of a job. */

/** The state machines, by the table of their rows. */
export const machines: Readonly<Record<string, Machine<string, string>>> = {
  projects,
  deployments,
  users,
  endpoints,
  deliveries,
  generations,
};

/** The ends of a job's run: the outcomes of `kernel/job`, an unexpected error, and the two ways to give up. */
const ends = ["done", "snooze", "discard", "failed", "exhausted", "crashed"] as const;
export type End = (typeof ends)[number];

export const refusal = (operation: string, code: string) => `${operation} ${code}`;
export const moved = (table: string, name: string, from: string) => `${table}: ${name} from ${from}`;
export const ended = (kind: string, end: End) => `the job ${kind}: ${end}`;

/** A move that leaves a row unchanged cannot be observed, so it is left out. */
export const movesOf = (table: string) =>
  Object.entries(machines[table]?.moves ?? {}).flatMap(([name, { from, to }]) =>
    from.filter((state) => state !== to).map((state) => ({ name, from: state, to })),
  );

const kinds = [...featureJobs.map(({ kind }) => kind), pruneKind];

/** Everything, in a fixed order. */
export const everything: readonly string[] = [
  ...operations.flatMap((operation) => problemsOf(operation).map((code) => refusal(operation.id, code))),
  ...Object.keys(machines).flatMap((table) => movesOf(table).map(({ name, from }) => moved(table, name, from))),
  ...kinds.flatMap((kind) => ends.map((end) => ended(kind, end))),
];

interface Unreachable {
  readonly what: readonly string[];
  readonly why: string;
}

const refusals = (code: string, of: (operation: Operation) => boolean) =>
  operations.filter(of).map(({ id }) => refusal(id, code));
const endsOf = (kind: string, ...some: readonly End[]) => some.map((end) => ended(kind, end));

/** The parts that no simulation can reach, with the reason. If a seed reaches one, this list is wrong. */
export const unreachable: readonly Unreachable[] = [
  {
    what: refusals("internal_error", () => true),
    why: "it is a fault of the service; a seed that meets one fails",
  },
  {
    what: refusals("insufficient_role", ({ roles }) => roles.length === 4),
    why: "every role may call it",
  },
  {
    what: refusals("insufficient_scope", ({ needs }) => needs === "key" || needs === "nothing"),
    why: "it needs no scope",
  },
  {
    what: refusals("unauthorized", ({ needs }) => needs === "nothing"),
    why: "it needs no key",
  },
  {
    what: refusals("idempotency_mismatch", ({ needs, method }) => needs === "nothing" && method === "POST"),
    why: "an answer is kept for its API key, and this has none",
  },
  {
    what: refusals("misdirected_request", () => true),
    why: "a call in process has no Host",
  },
  {
    what: [moved("deliveries", "skip", "pending")],
    why: "a delivery of an earlier time of its endpoint is shown as skipped, and its row stays",
  },
  {
    what: [
      ...["projects.clear", "deployments.turns", "deliveries.pump", "endpoints.clear", "previews.end"].flatMap((kind) =>
        endsOf(kind, "discard"),
      ),
      ...["deliveries.redeliver", "deliveries.end"].flatMap((kind) => endsOf(kind, "snooze")),
      ...["generations.turn", "generations.cancel"].flatMap((kind) => endsOf(kind, "snooze", "discard")),
    ],
    why: "no run of it answers so",
  },
  {
    what: endsOf("service.prune", "done", "discard", "failed", "exhausted", "crashed"),
    why: "a periodic job logs its errors and waits for its next time, and a simulation ends no process in it",
  },
  {
    what: ["generations.turn", "generations.cancel"].flatMap((kind) => endsOf(kind, "crashed")),
    why: "no simulation ends its process in them again and again",
  },
  {
    what: ["apps.restart", "apps.clear"].flatMap((kind) => endsOf(kind, ...ends)),
    why: "it goes from one server to another, which share a database of PostgreSQL and run apps",
  },
  {
    what: endsOf("apps.verify-domain", ...ends),
    why: "no simulation verifies domains, which needs DNS",
  },
  {
    what: endsOf("apps.schedule", ...ends),
    why: "schedules run where apps run, and here deployments are simulated",
  },
  {
    what: endsOf("mails.send", ...ends),
    why: "no mail server is named, so mails are kept",
  },
  {
    what: endsOf("deployments.tell", ...ends),
    why: "no token of a code host is named, so nobody is told",
  },
];

/** Parts that only some runs of `enoughSeeds` seeds reach: they depend on the moment of a kill. */
export const rare: readonly string[] = [
  ...["deployments.turns", "endpoints.clear", "generations.advance", "previews.end"].flatMap((kind) =>
    endsOf(kind, "crashed"),
  ),
  ...endsOf("generations.cancel", "failed", "exhausted"),
];

/** This many seeds in a row reach everything; CI runs them. */
export const enoughSeeds = 200;

/** Collects the parts that runs reach, and reports gaps and errors in the lists. */
export function createCoverage() {
  const reached = new Set<string>();
  return {
    reached,
    report() {
      const listed = new Set(unreachable.flatMap(({ what }) => what));
      const mayMiss = new Set(rare);
      return {
        /** Reached by no seed, and not listed. */
        missing: everything.filter((one) => !reached.has(one) && !listed.has(one) && !mayMiss.has(one)),
        /** Listed, but reached or not declared. */
        wrong: [...listed].filter((one) => reached.has(one) || !everything.includes(one)),
        /** Reached, but not declared. */
        unknown: [...reached].filter((one) => !everything.includes(one)),
      };
    },
  };
}
