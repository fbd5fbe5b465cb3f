import * as v from "valibot";
import type { AppsService } from "../apps/service.ts";
import type { EnvironmentApp } from "../apps/urls.ts";
import type { ChangeFeed } from "../events/change-feed.ts";
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

type AppKey = Parameters<AppsService["ensure"]>[1];
type LogsArguments = Parameters<AppsService["logs"]> extends [unknown, ...infer More] ? More : never;

const noneOfThisName = () => new Problem("not_found", "the project has no environment of this name");

/** The stored variables: a secret is encrypted, and opens under its environment and name alone. */
type Stored = Record<string, { value: string } | { sealed: string }>;

export type EnvironmentsService = ReturnType<typeof environmentsService>;

/** Environments: named targets of a project, each with variables. CONTRACT sections 3 and 9. */
export function environmentsService({
  store,
  feed,
  encryption,
  projects,
  apps,
}: {
  store: Store;
  feed: ChangeFeed;
  encryption: Encryption;
  projects: Pick<ProjectsService, "get">;
  apps: Pick<AppsService, "ensure" | "setDomains" | "ofProject" | "removed" | "requireLive" | "restart" | "logs">;
}) {
  const environments = store.using(environmentsRepository);

  const storedOf = ({ variables }: Row<"environments">) => JSON.parse(variables) as Stored;

  const view = (row: Row<"environments">, app: EnvironmentApp) => ({
    ...app,
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

  /** The environment of a path, in the caller's organization. */
  const find = async (caller: Caller, id: string, name: string, tx?: Tx) => {
    const { id: project_id, organization_id } = await projects.get(caller, id, tx);
    const row = await environments(tx).find({ project_id, name });
    if (!row) throw noneOfThisName();
    return { row, key: { organization_id, project_id, environment: name } };
  };

  return {
    async ensure(tx: Tx, { organization_id, project_id, environment }: AppKey) {
      await environments(tx).ensure({ project_id, name: environment });
      await apps.ensure(tx, { organization_id, project_id, environment });
    },

    async insert(tx: Tx, { organization_id, project_id, environment: name }: AppKey, given: Variables = {}) {
      await environments(tx).insert({ project_id, name, variables: serialize({ project_id, name }, given) });
      await apps.ensure(tx, { organization_id, project_id, environment: name });
    },

    async list(caller: Caller, id: string, query: PageQuery) {
      const { id: project_id } = await projects.get(caller, id);
      const page = await paginate(query, "environments", { project_id }, environments().list, {
        everything: true,
        key: "name",
      });
      const appOf = await apps.ofProject(project_id);
      return mapPage(page, (row) => view(row, appOf(row.name)));
    },

    /** Replaces all variables of an environment, and makes it where there is none yet. */
    async put(caller: Caller, id: string, name: string, { variables, domains }: Changes) {
      // CONTRACT section 1: "an encoded slash or `;x` makes another path".
      if (/;|%2f/i.test(name)) throw new Problem("not_found", "this path does not exist");
      check(v.object({ name: environmentName }), { name });
      return store.transaction(caller, async (tx) => {
        const { id: project_id, organization_id } = await projects.get(caller, id, tx);
        const key = { organization_id, project_id, environment: name };
        const before = await environments(tx).find({ project_id, name });
        const row = {
          project_id,
          name,
          variables: serialize({ project_id, name }, variables, before && storedOf(before)),
        };
        await environments(tx).put(row);
        await apps.ensure(tx, key);
        if (domains) await apps.setDomains(tx, key, domains);
        feed.publish(tx, { kind: "record", organization_id, id: project_id });
        return view(row, (await apps.ofProject(project_id, tx))(name));
      });
    },

    /** The variables for a driver, secrets included, and the values of the secret ones. */
    async values(of: EnvironmentKey): Promise<{ variables: Record<string, string>; secrets: string[] }> {
      const row = await environments().find(of);
      const variables: Record<string, string> = {};
      const secrets: string[] = [];
      for (const [key, stored] of Object.entries(row ? storedOf(row) : {})) {
        const value = "sealed" in stored ? encryption.decrypt(sealName(of, key), stored.sealed) : stored.value;
        variables[key] = value;
        if ("sealed" in stored) secrets.push(value);
      }
      return { variables, secrets };
    },

    /** Removes a batch of a deleted project's environments; answers whether none are left. */
    removeBatch: async (tx: Tx, project_id: string) => (await environments(tx).removeBatch({ project_id })) < batch,

    /** Removes an environment. Its deployments stay, and a later deployment creates it again. */
    remove: (caller: Caller, id: string, name: string) =>
      store.transaction(caller, async (tx) => {
        const { id: project_id, organization_id } = await projects.get(caller, id, tx);
        if ((await environments(tx).remove({ project_id, name })) === 0) throw noneOfThisName();
        await apps.removed(tx, { organization_id, project_id, environment: name });
        feed.publish(tx, { kind: "record", organization_id, id: project_id });
      }),

    async logs(caller: Caller, id: string, name: string, ...more: LogsArguments) {
      const { key } = await find(caller, id, name);
      return apps.logs(key, ...more);
    },

    /** Starts what is live in an environment anew, with its present variables. */
    async restart(caller: Caller, id: string, name: string) {
      let restarting: AppKey | undefined;
      const answer = await store.transaction(caller, async (tx) => {
        const { row, key } = await find(caller, id, name, tx);
        await apps.requireLive(tx, key);
        restarting = key;
        return view(row, (await apps.ofProject(key.project_id, tx))(name));
      });
      if (restarting) await apps.restart(restarting);
      return answer;
    },
  };
}
