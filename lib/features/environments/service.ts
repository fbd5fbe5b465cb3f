import * as v from "valibot";
import { isThere, Problem } from "../../kernel/errors.ts";
import type { Caller } from "../../kernel/operation.ts";
import { type EnvironmentRange, mapLong, type PageQuery, paginateLong } from "../../kernel/page.ts";
import type { PasswordHashes } from "../../kernel/secrets/password-hash.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import { check } from "../../kernel/validation.ts";
import type { Row } from "../../store/tables.ts";
import type { Core } from "../core.ts";
import type { ProjectsService } from "../projects/service.ts";
import type { Domains } from "./domains.ts";
import type { AppKey, LiveApps } from "./live-apps.ts";
import { hashed, protectColumn, runView } from "./protection.ts";
import { batch, environmentsRepository } from "./repository.ts";
import type { variables } from "./rules.ts";
import { type environmentChanges, environmentName, type environmentPatch, type Preview } from "./schema.ts";
import { shownVariables, storedOf, storedVariables } from "./stored-variables.ts";

export type Variables = v.InferOutput<typeof variables>;
type Changes = v.InferOutput<typeof environmentChanges>;
type Patch = v.InferOutput<typeof environmentPatch>;

type Copied = { readonly secrets: boolean; readonly root: string | undefined };
type LogsArguments = Parameters<LiveApps["logs"]> extends [unknown, ...infer More] ? More : never;

const noneOfThisName = () => new Problem("not_found", "the project has no environment of this name");

function requireName(name: string): void {
  // A name with an encoded slash or `;x` belongs to another path.
  if (/;|%2f/i.test(name)) throw new Problem("not_found", "this path does not exist");
  check(v.object({ name: environmentName }), { name });
}

export interface PreviewsOfEnvironments {
  ofRange(range: EnvironmentRange, tx?: Tx): Promise<ReadonlyMap<string, Preview>>;
  environmentRemoved(tx: Tx, key: AppKey): Promise<unknown>;
  projectRemoved(tx: Tx, project_id: string): Promise<unknown>;
}

export type EnvironmentsService = ReturnType<typeof environmentsService>;

interface Ports extends Pick<Core, "store" | "feed" | "encryption"> {
  readonly projects: Pick<ProjectsService, "get">;
  readonly apps: LiveApps;
  readonly domains: Pick<Domains, "set">;
  readonly rollout: Record<"endLive" | "environmentRemoved", (tx: Tx, key: AppKey) => Promise<unknown>>;
  readonly previews: PreviewsOfEnvironments;
  readonly passwords: Pick<PasswordHashes, "hashPassword">;
}

/** Environments: named targets of a project with variables. */
export function environmentsService(ports: Ports) {
  const { store, feed, encryption, projects, apps, rollout, previews, passwords } = ports;
  const environments = store.using(environmentsRepository);
  const { serialize, copied } = storedVariables(encryption);

  /** Returns the function that shows these environments of a project. `rows` must be sorted by name. */
  const viewFor = async (rows: readonly Row<"environments">[], tx?: Tx) => {
    const { project_id = "", name: first = "" } = rows[0] ?? {};
    const range = { project_id, first, last: rows.at(-1)?.name ?? "" };
    const [appOf, its] = [await apps.ofRange(range, tx), await previews.ofRange(range, tx)];
    return (row: Row<"environments">) => {
      const app = appOf(row.name);
      const shown = { ...runView(row, app.url !== undefined), name: row.name, variables: shownVariables(row) };
      return { ...app, preview: its.get(row.name), ...shown };
    };
  };

  /** Finds an environment by its path, in the caller's organization. */
  const find = async (caller: Caller, id: string, name: string, tx?: Tx) => {
    const { id: project_id, organization_id } = await projects.get(caller, id, tx);
    const row = await environments(tx).find({ project_id, name });
    if (!row) throw noneOfThisName();
    return { row, key: { organization_id, project_id, environment: name } };
  };

  /** Removes an environment with its apps; returns whether it existed. */
  const removeIn = async (tx: Tx, key: AppKey): Promise<boolean> => {
    const { organization_id, project_id, environment: name } = key;
    if ((await environments(tx).remove({ project_id, name })) === 0) return false;
    await rollout.endLive(tx, key);
    if (await apps.removed(tx, key)) await rollout.environmentRemoved(tx, key);
    await previews.environmentRemoved(tx, key);
    feed.publish(tx, { kind: "record", organization_id, id: project_id });
    return true;
  };

  const insert = async (tx: Tx, { organization_id, project_id, environment: name }: AppKey, given: Variables = {}) => {
    const key = { project_id, name };
    await environments(tx).insert({ ...key, variables: serialize(key, given), protect: null, root: null });
    await apps.ensure(tx, { organization_id, project_id, environment: name });
  };

  /** Changes the given fields, and creates the environment if needed. With `keeps`, variables that are not named stay. */
  const changing =
    <T extends Patch>(keeping: { readonly keeps: boolean }) =>
    async (caller: Caller, id: string, name: string, { variables, domains, protect, root }: T) => {
      requireName(name);
      const protection = await hashed(protect, (password) => passwords.hashPassword(password, caller.organization_id));
      return store.transaction(caller, async (tx) => {
        const { id: project_id, organization_id } = await projects.get(caller, id, tx);
        const key = { organization_id, project_id, environment: name };
        const before = await environments(tx).find({ project_id, name });
        const row = {
          project_id,
          name,
          variables: serialize({ project_id, name }, variables, before && storedOf(before), keeping),
          protect: protectColumn(protection, before),
          root: root === undefined ? (before?.root ?? null) : root,
        };
        await environments(tx).put(row);
        await apps.ensure(tx, key);
        if (domains) await ports.domains.set(tx, key, domains);
        if (domains || row.protect !== (before?.protect ?? null)) await apps.accessChanged(tx, key);
        feed.publish(tx, { kind: "record", organization_id, id: project_id });
        return (await viewFor([row], tx))(row);
      });
    };

  return {
    /** Creates the environment at its first deployment. */
    async ensure(tx: Tx, key: AppKey) {
      const { organization_id, project_id, environment: name } = key;
      if (!(await environments(tx).find({ project_id, name }))) return insert(tx, key);
      await apps.ensure(tx, { organization_id, project_id, environment: name });
    },

    insert,

    async list(caller: Caller, id: string, query: PageQuery) {
      const { id: project_id } = await projects.get(caller, id);
      // Each environment may have 1 MiB of variables.
      const list = paginateLong(query, "environments", { project_id }, environments().list, { key: "name", first: 4 });
      return mapLong(list, async (rows) => rows.map(await viewFor(rows)));
    },

    put: changing<Changes>({ keeps: false }),
    update: changing<Patch>({ keeps: true }),

    rootOf: async (tx: Tx, { project_id, environment: name }: Pick<AppKey, "project_id" | "environment">) =>
      (await environments(tx).find({ project_id, name }))?.root ?? null,

    exists: async (tx: Tx, { project_id, environment: name }: AppKey) =>
      (await environments(tx).find({ project_id, name })) !== undefined,

    /**
     * Copies variables and root from another environment of the project. A new environment also gets its protection.
     * The target keeps its other variables. If those are too many or too large, this copies nothing and returns false.
     */
    async copy(tx: Tx, key: AppKey, from: string, { secrets, root }: Copied): Promise<boolean> {
      const { project_id, environment: name } = key;
      const target = { project_id, name };
      const template = await environments(tx).find({ project_id, name: from });
      const before = await environments(tx).find(target);
      const variables = copied(template, target, { before, secrets });
      if (variables === undefined) return false;
      const { protect } = before ?? template ?? { protect: null };
      const { root: own = null } = template ?? {};
      await environments(tx).put({ ...target, variables, protect, root: root ?? own });
      await apps.ensure(tx, key);
      return true;
    },

    removeIn,

    /** Removes an environment. Its deployments stay, and a later deployment creates it again. */
    remove: (caller: Caller, id: string, name: string) =>
      store.transaction(caller, async (tx) => {
        const { id: project_id, organization_id } = await projects.get(caller, id, tx);
        if (!(await removeIn(tx, { organization_id, project_id, environment: name }))) throw noneOfThisName();
      }),

    /** Removes a batch of a deleted project's environments. Returns whether none are left. */
    async removeBatch(tx: Tx, project_id: string): Promise<boolean> {
      await previews.projectRemoved(tx, project_id);
      return (await environments(tx).removeBatch({ project_id })) < batch;
    },

    async logs(caller: Caller, id: string, name: string, ...more: LogsArguments) {
      const { key } = await find(caller, id, name);
      return apps.logs({ ...key, exists: () => isThere(find(caller, id, name)) }, ...more);
    },

    async runs(caller: Caller, id: string, name: string, query: PageQuery) {
      const { key } = await find(caller, id, name);
      return apps.runs(key, query);
    },

    async restart(caller: Caller, id: string, name: string) {
      let restarting: AppKey | undefined;
      const answer = await store.transaction(caller, async (tx) => {
        const { row, key } = await find(caller, id, name, tx);
        await apps.requireLive(tx, key);
        restarting = key;
        return (await viewFor([row], tx))(row);
      });
      if (restarting) await apps.restart(restarting);
      return answer;
    },
  };
}
