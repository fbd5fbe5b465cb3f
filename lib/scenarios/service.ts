import type { SimulatedOutcome } from "../drivers/simulated-outcome.ts";
import { matches } from "../kernel/glob.ts";
import type { Ids } from "../kernel/ids.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import { check } from "../kernel/validation.ts";
import type { Store } from "../store/store.ts";
import type { Row } from "../store/tables.ts";
import { scenariosRepository } from "./repository.ts";
import { fields, type Kind, type Match, type NewScenario, newScenario } from "./schema.ts";

/** A scenario as it is kept. */
export interface Scenario {
  readonly id: string;
  readonly match: Match;
  readonly next: Kind | null;
  readonly outcome: SimulatedOutcome;
  /** How often it is used at most; null for always. */
  readonly times: number | null;
  /** How often it was. */
  readonly used: number;
}

/** What is known of work that begins: each field is a text, or null where the work does not have it. */
export type WorkFields = Readonly<Partial<Record<keyof Match, string | null>>>;

const view = (row: Row<"scenarios">): Scenario => ({
  ...row,
  match: JSON.parse(row.match) as Match,
  outcome: JSON.parse(row.outcome) as SimulatedOutcome,
});

const hasUsesLeft = ({ times, used }: Scenario) => times === null || used < times;

const matchesWork = (kind: Kind, about: WorkFields, { match }: Scenario) => {
  const globs = Object.entries(match) as [keyof Match, string][];
  const isKnown = (name: string) => (fields[kind] as readonly string[]).includes(name);
  return globs.every(([name, glob]) => {
    const value = about[name];
    return isKnown(name) && typeof value === "string" && matches(glob, value);
  });
};

export type ScenariosService = ReturnType<typeof scenariosService>;

/**
 * How simulated work turns out, told by a tester. Scenarios are rows, so that what begins takes one in its own
 * transaction: a use is counted if the work is stored, and only then.
 */
export function scenariosService({ store, ids }: { store: Store; ids: Ids }) {
  const scenarios = store.using(scenariosRepository);
  /** Those that were added to this very state, and not brought along by it. */
  const added = new Set<string>();
  const list = async (tx?: Tx) => (await scenarios(tx).all({})).map(view);
  return {
    list: () => list(),

    /** Those that nothing fitted so far. */
    unused: async () => (await list()).filter(({ used }) => used === 0),

    /** Whether it was added here: a fork has its parent's too. */
    isOwn: ({ id }: Scenario) => added.has(id),

    /** Throws at once for a scenario that is wrong, before anything is stored. */
    add(given: NewScenario): Promise<Scenario> {
      const { match, next = null, outcome, times = null } = check(newScenario, given);
      const row = {
        ...{ id: ids.next("scn"), match: JSON.stringify(match), next, outcome: JSON.stringify(outcome) },
        ...{ times: next === null ? times : 1, used: 0 },
      };
      return store.transaction(async (tx) => {
        await scenarios(tx).insert(row);
        added.add(row.id);
        return view(row);
      });
    },

    clear: () => store.transaction((tx) => scenarios(tx).clear({})),

    /** The outcome of work that begins, as it is kept with the work; null where no scenario fits. The first one wins. */
    async take(tx: Tx, kind: Kind, about: WorkFields): Promise<string | null> {
      const left = (await list(tx)).filter(hasUsesLeft);
      const found =
        left.find(({ next }) => next === kind) ??
        left.find((one) => one.next === null && matchesWork(kind, about, one));
      if (!found) return null;
      await scenarios(tx).use(found);
      return JSON.stringify(found.outcome);
    },
  };
}
