import * as v from "valibot";
import { Problem } from "../kernel/errors.ts";
import type { Caller } from "../kernel/operation.ts";
import { mapPage, type PageQuery, paginate } from "../kernel/page.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import { check } from "../kernel/validation.ts";
import type { ProjectsService } from "../projects/service.ts";
import type { Encryption } from "../store/encryption.ts";
import type { Store } from "../store/store.ts";
import type { Row } from "../store/tables.ts";
import { batch, environmentsRepository } from "./repository.ts";
import { type environmentChanges, environmentName, type variables } from "./schema.ts";

export type Variables = v.InferOutput<typeof variables>;
type Changes = v.InferOutput<typeof environmentChanges>;
type EnvironmentKey = Pick<Row<"environments">, "project_id" | "name">;

/** The stored variables: a secret is encrypted, and opens under its environment and name alone. */
type Stored = Record<string, { value: string } | { sealed: string }>;

export type EnvironmentsService = ReturnType<typeof environmentsService>;

/** Environments: named targets of a project, each with variables. CONTRACT sections 3 and 9. */
export function environmentsService({
  store,
  encryption,
  projects,
}: {
  store: Store;
  encryption: Encryption;
  projects: Pick<ProjectsService, "get">;
}) {
  const environments = store.using(environmentsRepository);

  const storedOf = ({ variables }: Row<"environments">) => JSON.parse(variables) as Stored;

  const view = (row: Row<"environments">) => ({
    name: row.name,
    variables: Object.fromEntries(
      Object.entries(storedOf(row)).map(([key, stored]) => [
        key,
        "sealed" in stored ? { secret: true as const } : stored.value,
      ]),
    ),
  });

  const sealName = ({ project_id, name }: EnvironmentKey, key: string) => `environments ${project_id} ${name} ${key}`;

  /** The variables as JSON to store; a secret without a value stays as it is. */
  const serialize = (of: EnvironmentKey, given: Changes["variables"], before: Stored = {}): string => {
    const stored: Stored = {};
    const missing: string[] = [];
    for (const [key, variable] of Object.entries(given)) {
      const present = before[key];
      if (typeof variable === "string") stored[key] = { value: variable };
      else if (!("value" in variable)) {
        if (present && "sealed" in present) stored[key] = present;
        else missing.push(`variables.${key}`);
      } else if (!variable.secret) stored[key] = { value: variable.value };
      else stored[key] = { sealed: encryption.encrypt(sealName(of, key), variable.value) };
    }
    if (missing.length === 0) return JSON.stringify(stored);
    const message = "needs a value: no secret of this name is stored";
    const details = missing.map((path) => ({ path, message }));
    throw new Problem("validation_failed", `${missing.join(", ")} ${message}`, { details });
  };

  return {
    ensure: (tx: Tx, project_id: string, name: string) => environments(tx).ensure({ project_id, name }),

    insert: (tx: Tx, project_id: string, name: string, given: Variables = {}) =>
      environments(tx).insert({ project_id, name, variables: serialize({ project_id, name }, given) }),

    async list(caller: Caller, id: string, query: PageQuery) {
      const { id: project_id } = await projects.get(caller, id);
      const page = await paginate(query, "environments", { project_id }, environments().list, {
        everything: true,
        key: "name",
      });
      return mapPage(page, view);
    },

    /** Replaces all variables of an environment, and makes it where there is none yet. */
    async put(caller: Caller, id: string, name: string, { variables }: Changes) {
      // CONTRACT section 1: "an encoded slash or `;x` makes another path".
      if (/;|%2f/i.test(name)) throw new Problem("not_found", "this path does not exist");
      check(v.object({ name: environmentName }), { name });
      return store.transaction(async (tx) => {
        const { id: project_id } = await projects.get(caller, id, tx);
        const before = await environments(tx).find({ project_id, name });
        const row = {
          project_id,
          name,
          variables: serialize({ project_id, name }, variables, before && storedOf(before)),
        };
        await environments(tx).put(row);
        return view(row);
      }, caller);
    },

    /** The variables for a driver, secrets included. */
    async values(of: EnvironmentKey): Promise<Record<string, string>> {
      const row = await environments().find(of);
      const values: Record<string, string> = {};
      for (const [key, stored] of Object.entries(row ? storedOf(row) : {}))
        values[key] = "sealed" in stored ? encryption.decrypt(sealName(of, key), stored.sealed) : stored.value;
      return values;
    },

    /** Removes a batch of a deleted project's environments; answers whether none are left. */
    removeBatch: async (tx: Tx, project_id: string) => (await environments(tx).removeBatch({ project_id })) < batch,

    /** Removes an environment. Its deployments stay, and a later one makes it anew. */
    remove: (caller: Caller, id: string, name: string) =>
      store.transaction(async (tx) => {
        const { id: project_id } = await projects.get(caller, id, tx);
        if ((await environments(tx).remove({ project_id, name })) === 0)
          throw new Problem("not_found", "the project has no environment of this name");
      }, caller),
  };
}
