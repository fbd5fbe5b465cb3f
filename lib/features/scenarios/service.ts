import type { SimulatedOutcome } from "../../drivers/simulated-outcome.ts";
import { notFound } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import { matchesGlob } from "../../kernel/text/glob.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import { check } from "../../kernel/validation.ts";
import type { Row } from "../../store/tables.ts";
import type { Core } from "../core.ts";
import { scenariosRepository } from "./repository.ts";
import { fields, type Kind, kindOf, type Match, type NewScenario, newScenario } from "./schema.ts";

export interface Scenario {
  readonly id: string;
  readonly match: Match;
  readonly next: Kind | null;
  readonly outcome: SimulatedOutcome;
  /** How often it applies; null for always. */
  readonly times: number | null;
  /** How often it has applied so far. */
  readonly used: number;
}

/** The fields of new work that a scenario can match on; null for fields that the work lacks. */
export type WorkFields = Readonly<Partial<Record<keyof Match, string | null>>>;

const view = (row: Row<"scenarios">): Scenario => ({
  ...row,
  match: JSON.parse(row.match) as Match,
  outcome: JSON.parse(row.outcome) as SimulatedOutcome,
});

const hasUsesLeft = ({ times, used }: Scenario) => times === null || used < times;

const matchesWork = (kind: Kind, work: WorkFields, { match }: Scenario) => {
  const globs = Object.entries(match) as [keyof Match, string][];
  const isKnown = (name: string) => (fields[kind] as readonly string[]).includes(name);
  return globs.every(([name, glob]) => {
    const value = work[name];
    return isKnown(name) && typeof value === "string" && matchesGlob(glob, value);
  });
};

interface Ports extends Pick<Core, "store" | "ids"> {
  readonly log: Pick<Log, "warn">;
  /** Whether deployments are simulated, so that scenarios apply to them. */
  readonly takesDeployments: boolean;
}

export type ScenariosService = ReturnType<typeof scenariosService>;

/** New work takes a scenario in its own transaction, so that a use counts only if the work is stored. */
export function scenariosService({ store, ids, log, takesDeployments }: Ports) {
  const scenarios = store.using(scenariosRepository);
  /** The scenarios that were added here, unlike those that a fork gets from its parent. */
  const added = new Set<string>();
  const list = async (tx?: Tx) => (await scenarios(tx).all({})).map(view);
  return {
    list: () => list(),

    unused: async () => (await list()).filter(({ used }) => used === 0),

    isOwn: ({ id }: Scenario) => added.has(id),

    /** Throws `validation_failed` synchronously for an invalid scenario. */
    add(given: NewScenario): Promise<Scenario> {
      const { match, next = null, outcome, times = null } = check(newScenario, given);
      const kind = kindOf({ match, next });
      if (!takesDeployments && kind !== "generation")
        log.warn(
          `deployments are not simulated here and take no scenario, so the new one applies to ${kind === "deployment" ? "nothing" : "generations only"}`,
        );
      const row = {
        id: ids.next("scn"),
        match: JSON.stringify(match),
        next,
        outcome: JSON.stringify(outcome),
        times: next === null ? times : 1,
        used: 0,
      };
      return store.transaction("rows", async (tx) => {
        await scenarios(tx).insert(row);
        added.add(row.id);
        return view(row);
      });
    },

    /** Throws `not_found` for an unknown scenario. Work that has already taken it keeps its outcome. */
    async remove(id: string): Promise<void> {
      if ((await store.transaction("rows", (tx) => scenarios(tx).remove({ id }))) === 0) throw notFound("scenario");
    },

    clear: () => store.transaction("rows", (tx) => scenarios(tx).clear({})),

    /** Takes the first scenario that matches new work. Returns its outcome, to store in the row of the work. */
    async take(tx: Tx, kind: Kind, work: WorkFields): Promise<string | null> {
      await tx.lockLimit("scenarios");
      const left = (await list(tx)).filter(hasUsesLeft);
      const scenario =
        left.find(({ next }) => next === kind) ?? left.find((one) => one.next === null && matchesWork(kind, work, one));
      if (!scenario) return null;
      await scenarios(tx).use(scenario);
      return JSON.stringify(scenario.outcome);
    },
  };
}
