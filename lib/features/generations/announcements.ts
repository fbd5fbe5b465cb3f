import type { GenerationDriver } from "../../drivers/generation/contract.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Row } from "../../store/tables.ts";
import type { Bus } from "../events/bus.ts";
import type { ChangeFeed } from "../events/change-feed.ts";
import { workOf } from "./driver-work.ts";
import { usdOf } from "./price-list.ts";
import type { finished } from "./schema.ts";

type Generation = Row<"generations">;

export interface AnnouncementsPorts {
  readonly clock: Clock;
  readonly bus: Bus;
  readonly feed: ChangeFeed;
  readonly driverOf: (model: string) => { readonly driver: GenerationDriver };
  /** Option `generations.finishedStatus`. */
  readonly finishedStatus: (typeof finished)[number];
}

/** Publishes the state, the progress and the end of a generation. */
export function generationAnnouncements({ clock, bus, feed, driverOf, finishedStatus }: AnnouncementsPorts) {
  /** The state as the API names it. */
  const statusOf = ({ status }: Generation) => (status === "completed" ? finishedStatus : status);

  /** The completed part, with two decimals; undefined if the driver does not report it. */
  const progressOf = (row: Generation): number | undefined => {
    if (row.status !== "in_progress") return undefined;
    const part = driverOf(row.model).driver.progressOf?.(workOf(row, clock.now()));
    if (part !== undefined) return Math.round(part * 100) / 100;
    return row.progress === null ? undefined : row.progress / 100;
  };

  const eventOf = (row: Generation) => ({
    generation_id: row.id,
    model: row.model,
    status: statusOf(row),
    cost_usd: usdOf(row.cost_micros),
  });

  return {
    statusOf,
    progressOf,

    /** Publishes a new state of a generation, or new progress. */
    publish(tx: Tx, row: Generation, at = row.step_at) {
      const { organization_id, id } = row;
      const progress = progressOf(row);
      const change = { kind: "generation", organization_id, id, status: statusOf(row), at } as const;
      feed.publish(tx, progress === undefined ? change : { ...change, progress });
    },

    completed: (tx: Tx, row: Generation) => bus.announce(tx, row.organization_id, "generation.completed", eventOf(row)),
    failed: (tx: Tx, row: Generation, error: { readonly code: string; readonly message: string }) =>
      bus.announce(tx, row.organization_id, "generation.failed", { ...eventOf(row), error }),
  };
}
