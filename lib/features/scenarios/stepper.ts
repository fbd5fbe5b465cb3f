import { invalid, orNotFound } from "../../kernel/errors.ts";
import type { Outcome } from "../../kernel/job.ts";
import { isTerminal, type Machine } from "../../kernel/state-machine.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Store } from "../../store/store.ts";
import { isStepped } from "./stored-outcome.ts";

/** The row of a deployment or a generation. */
interface Work {
  readonly id: string;
  readonly organization_id: string;
  readonly status: string;
  /** The outcome of the scenario that the work took, as JSON. */
  readonly script: string | null;
}

interface Ports<W extends Work> {
  readonly store: Store;
  readonly name: "deployment" | "generation";
  readonly lifecycle: Machine<W["status"], string>;
  readonly find: (id: string) => Promise<W | undefined>;
  /** Ends the wait of queued work, which then starts as soon as a slot is free. */
  readonly skipDelay: (tx: Tx, work: W) => Promise<void>;
  /** Asks the driver for its progress in the current state. */
  readonly advance: (id: string) => Promise<Outcome>;
  readonly statusOf: (work: W) => string;
}

/** Moves work whose scenario has the pace `polls` or `manual`: one state per GET or step (schema/testing.md#scenarios). */
export function createStepper<W extends Work>(ports: Ports<W>) {
  const { store, name, lifecycle, find, skipDelay, advance, statusOf } = ports;
  const moving = new Map<string, Promise<W>>();

  const move = async (work: W): Promise<W> => {
    const scope = { organization_id: work.organization_id };
    if (work.status === lifecycle.initial) await store.transaction(scope, (tx) => skipDelay(tx, work));
    else {
      const outcome = await advance(work.id);
      if ("write" in outcome) await store.transaction(scope, async (tx) => outcome.write?.(tx));
    }
    return (await find(work.id)) ?? work;
  };

  /** Concurrent calls share one move, because the driver must not run twice for one state. */
  const moveOnce = (work: W): Promise<W> => {
    const moved = moving.get(work.id) ?? move(work).finally(() => moving.delete(work.id));
    moving.set(work.id, moved);
    return moved;
  };

  return {
    /** The work as a GET shows it. With the pace `polls`, moves it by one state first. */
    polled: async (work: W) =>
      isStepped(work) === "polls" && !isTerminal(lifecycle, work.status) ? moveOnce(work) : work,

    /** Throws `not_found`, and `validation_failed` for work that has ended or that advances with time. */
    async step(id: string): Promise<W> {
      const work = await orNotFound(find(id), name);
      if (!isStepped(work))
        throw invalid("id", `must be the id of a ${name} whose scenario has the pace manual or polls`);
      if (isTerminal(lifecycle, work.status))
        throw invalid("id", `must be the id of a ${name} that has not ended; this one is ${statusOf(work)}`);
      return moveOnce(work);
    },
  };
}
