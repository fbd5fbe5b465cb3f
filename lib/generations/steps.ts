import type { Clock } from "../kernel/clock.ts";
import { invalid, notFound } from "../kernel/errors.ts";
import { isTerminal } from "../kernel/machine.ts";
import { isStepped } from "../scenarios/script.ts";
import type { Store } from "../store/store.ts";
import type { Row } from "../store/tables.ts";
import type { GenerationsProgress } from "./progress.ts";
import { generationsRepository } from "./repository.ts";
import { lifecycle } from "./states.ts";

type Generation = Row<"generations">;

interface Ports {
  readonly store: Store;
  readonly clock: Clock;
  readonly progress: GenerationsProgress;
}

export type Steps = ReturnType<typeof createSteps>;

/** How generations move whose scenario lets no time move them. */
export function createSteps({ store, clock, progress }: Ports) {
  const generations = store.using(generationsRepository);
  const underWay = new Map<string, Promise<Generation>>();

  /** By one state; in the queue it keeps its turn, and at its end it stays. */
  const move = async (row: Generation): Promise<Generation> => {
    if (row.status === "queued") {
      await store.transaction(async (tx) => {
        await generations(tx).hasten({ ...row, now: clock.iso() });
        await progress.takeTurns(tx);
      });
    } else if (row.status === "in_progress") {
      const outcome = await progress.advance(row.id);
      if ("write" in outcome) await store.transaction(async (tx) => outcome.write?.(tx));
    }
    return (await generations().byId(row)) ?? row;
  };

  /** Who comes while it is moved waits for that move: the model must not run twice. */
  const moveOnce = (row: Generation): Promise<Generation> => {
    const moved = underWay.get(row.id) ?? move(row).finally(() => underWay.delete(row.id));
    underWay.set(row.id, moved);
    return moved;
  };

  return {
    /** What somebody sees who looks at a generation: looking moves one whose pace is `polls`. */
    polled: async (row: Generation) => (isStepped(row) === "polls" ? moveOnce(row) : row),

    /** A tester's step. */
    async step(id: string): Promise<Generation> {
      const row = await generations().byId({ id });
      if (!row) throw notFound("generation");
      if (!isStepped(row)) throw invalid("id", "must be of a generation whose scenario has the pace manual or polls");
      if (isTerminal(lifecycle, row.status))
        throw invalid("id", `must be of a generation that has not ended; this one is ${progress.statusOf(row)}`);
      return moveOnce(row);
    },
  };
}
