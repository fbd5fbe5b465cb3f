import type * as v from "valibot";
import { Problem } from "../../kernel/errors.ts";
import { maxVariables } from "../../kernel/limits.ts";
import type { Encryption } from "../../store/encryption.ts";
import { contextOf } from "../../store/sealed-columns.ts";
import type { Store } from "../../store/store.ts";
import type { Row } from "../../store/tables.ts";
import { environmentsRepository } from "./repository.ts";
import type { environmentPatch } from "./schema.ts";

type EnvironmentKey = Pick<Row<"environments">, "project_id" | "name">;
type Given = v.InferOutput<typeof environmentPatch>["variables"];

/** Variables as stored. A secret is encrypted and bound to its environment and name. */
export type Stored = Record<string, { value: string } | { sealed: string }>;

/** How many characters of stored variables a copy, or a change of single ones, may keep. */
const maxKept = 1024 * 1024;

export const storedOf = ({ variables }: Pick<Row<"environments">, "variables">) => JSON.parse(variables) as Stored;

/** Variables as answers show them: without the values of secrets. */
export const shownVariables = (row: Pick<Row<"environments">, "variables">) =>
  Object.fromEntries(
    Object.entries(storedOf(row)).map(([key, stored]) => [
      key,
      "sealed" in stored ? { secret: true as const } : stored.value,
    ]),
  );

const secretsOf = (encryption: Encryption) => ({
  seal: (of: EnvironmentKey, key: string, value: string) => ({
    sealed: encryption.encrypt(contextOf.variable(of, key), value),
  }),
  open: (of: EnvironmentKey, key: string, sealed: string) => encryption.decrypt(contextOf.variable(of, key), sealed),
});

/** Reads the variables of an environment for a driver, secrets included, and the values of the secrets. */
export function driverVariables({ store, encryption }: { readonly store: Store; readonly encryption: Encryption }) {
  const environments = store.using(environmentsRepository);
  const { open } = secretsOf(encryption);
  return async (of: EnvironmentKey) => {
    const row = await environments().find(of);
    const variables: Record<string, string> = {};
    const secrets: string[] = [];
    for (const [key, stored] of Object.entries(row ? storedOf(row) : {})) {
      const value = "sealed" in stored ? open(of, key, stored.sealed) : stored.value;
      variables[key] = value;
      if ("sealed" in stored) secrets.push(value);
    }
    return { variables, secrets };
  };
}

function refused(paths: readonly string[], message: string): Problem {
  const details = paths.map((path) => ({ path, message }));
  return new Problem("validation_failed", `${paths.join(", ")} ${message}`, { details });
}

/** The variables as JSON. Those that break a limit are refused, unless they are fewer or smaller than before. */
function withinLimits(stored: Stored, before: Stored): string {
  const count = Object.keys(stored).length;
  if (count > maxVariables && count > Object.keys(before).length)
    throw refused(["variables"], `must have at most ${maxVariables} variables; the environment would have ${count}`);
  const text = JSON.stringify(stored);
  if (text.length > maxKept && text.length > JSON.stringify(before).length)
    throw refused(["variables"], "must have at most 1 MiB in all, with those that stay");
  return text;
}

export function storedVariables(encryption: Encryption) {
  const { seal, open } = secretsOf(encryption);

  return {
    /** `keeps`: the variables that are not named stay. A secret without a value keeps the stored one. */
    serialize(of: EnvironmentKey, given: Given, before: Stored = {}, { keeps = false } = {}): string {
      if (!given) return JSON.stringify(before);
      const stored: Stored = keeps ? { ...before } : {};
      const missing: string[] = [];
      for (const [key, variable] of Object.entries(given)) {
        const present = before[key];
        if (variable === null) delete stored[key];
        else if (typeof variable === "string") stored[key] = { value: variable };
        else if (!("value" in variable)) {
          if (present && "sealed" in present) stored[key] = present;
          else missing.push(`variables.${key}`);
        } else stored[key] = variable.secret ? seal(of, key, variable.value) : { value: variable.value };
      }
      if (missing.length > 0) throw refused(missing, "needs a value: no secret of this name is stored");
      return keeps ? withinLimits(stored, before) : JSON.stringify(stored);
    },

    /** The variables of the target after a copy. Undefined if those that it keeps are too many or too large. */
    copied(
      template: Row<"environments"> | undefined,
      { project_id, name }: EnvironmentKey,
      { before, secrets }: { readonly before: Row<"environments"> | undefined; readonly secrets: boolean },
    ): string | undefined {
      const copies: Stored = {};
      for (const [key, stored] of Object.entries(template ? storedOf(template) : {})) {
        if (!("sealed" in stored)) copies[key] = stored;
        else if (template && secrets) copies[key] = seal({ project_id, name }, key, open(template, key, stored.sealed));
      }
      const kept = Object.entries(before ? storedOf(before) : {}).filter(([key]) => !Object.hasOwn(copies, key));
      if (kept.length > maxVariables || JSON.stringify(kept).length > maxKept) return undefined;
      return JSON.stringify({ ...Object.fromEntries(kept), ...copies });
    },
  };
}
