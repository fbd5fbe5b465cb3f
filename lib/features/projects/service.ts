import type * as v from "valibot";
import { invalid, orNotFound, Problem } from "../../kernel/errors.ts";
import { type Outcome, snoozeUntil } from "../../kernel/job.ts";
import type { Caller } from "../../kernel/operation.ts";
import { type PageQuery, paginate } from "../../kernel/page.ts";
import { foldCase } from "../../kernel/text/case-folding.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Store } from "../../store/store.ts";
import type { Row } from "../../store/tables.ts";
import type { Core } from "../core.ts";
import { projectsRepository } from "./repository.ts";
import type { newProject, projectChanges } from "./schema.ts";
import { lifecycle } from "./states.ts";

interface Ports extends Pick<Core, "store" | "bus" | "feed" | "clock" | "queue" | "ids"> {
  /** Option `regions`: the valid regions; undefined if any is valid. */
  readonly regions: readonly string[] | undefined;
  /** Removes a batch of a project's records; returns whether none are left. */
  readonly removeContents: (tx: Tx, id: string) => Promise<boolean>;
  /** Called in the transaction that removes a project, before its rows are removed: stops what uses it. */
  readonly onRemove: (tx: Tx, key: Key) => Promise<void>;
  /** Called last in the same transaction: other deployments may take its slots. */
  readonly onRemoved: (tx: Tx, key: Key) => Promise<void>;
}

type Key = Pick<Row<"projects">, "organization_id" | "id">;

export type ProjectsService = ReturnType<typeof projectsService>;

export type ProjectName = ReturnType<typeof projectNames>;

/** Reads the name of a project; undefined if it was deleted. */
export function projectNames(store: Store) {
  const projects = store.using(projectsRepository);
  return async (tx: Tx | undefined, organization_id: string, id: string) =>
    (await projects(tx).find({ organization_id, id }))?.name;
}

/** Projects: top-level containers of deployments and environments. */
export function projectsService(ports: Ports) {
  const { store, bus, feed, clock, queue, ids, regions, removeContents, onRemove, onRemoved } = ports;
  const projects = store.using(projectsRepository);

  const get = (organization_id: string, id: string, tx?: Tx) =>
    orNotFound(projects(tx).find({ organization_id, id }), "project");

  const refuseTakenName = async (tx: Tx, organization_id: string, name: string, except?: string) => {
    const other = await projects(tx).findByName({ organization_id, name_folded: foldCase(name) });
    if (other && other.id !== except)
      throw new Problem("name_taken", `another project is named "${other.name}"; choose another name`);
  };

  const refuseRegion = (region: string) => {
    if (regions && !regions.includes(region)) throw invalid("region", `must be one of ${regions.join(", ")}`);
  };

  /** Creates a project without announcing it, for a request or a seed. */
  const insert = async (
    tx: Tx,
    organization_id: string,
    body: v.InferOutput<typeof newProject>,
    status: Row<"projects">["status"] = lifecycle.initial,
  ) => {
    await refuseTakenName(tx, organization_id, body.name);
    const now = clock.iso();
    const row: Row<"projects"> = {
      id: ids.next("proj"),
      organization_id,
      name: body.name,
      name_folded: foldCase(body.name),
      region: body.region,
      description: body.description || null,
      status,
      created_at: now,
      updated_at: now,
    };
    await projects(tx).insert(row);
    return row;
  };

  const publish = (tx: Tx, { organization_id, id }: Key) => feed.publish(tx, { kind: "record", organization_id, id });

  const move = (caller: Caller, id: string, name: keyof typeof lifecycle.moves) =>
    store.transaction(caller, async (tx) => {
      const before = await get(caller.organization_id, id, tx);
      const after = await projects(tx).update({
        ...before,
        status: lifecycle.moves[name].to,
        updated_at: clock.iso(),
      });
      publish(tx, before);
      return after ?? before;
    });

  /** Removes a batch of a project's records, and after the last batch the project; returns whether it did. */
  const removeBatch = async (tx: Tx, key: Key) => {
    const isEmpty = await removeContents(tx, key.id);
    if (isEmpty) await projects(tx).remove(key);
    return isEmpty;
  };

  return {
    get: (caller: Caller, id: string, tx?: Tx) => get(caller.organization_id, id, tx),

    exists: async (tx: Tx | undefined, organization_id: string, id: string) =>
      (await projects(tx).findId({ organization_id, id })) !== undefined,

    /** The project with this id, or with this name, ignoring case. */
    async named({ organization_id }: Caller, name: string): Promise<{ id: string; name: string } | undefined> {
      const byId = await projects().find({ organization_id, id: name });
      return byId ?? projects().findByName({ organization_id, name_folded: foldCase(name) });
    },

    list: ({ organization_id }: Caller, query: PageQuery) =>
      paginate(query, "projects", { organization_id }, projects().list),

    insert,

    async create(caller: Caller, body: v.InferOutput<typeof newProject>) {
      refuseRegion(body.region);
      return store.transaction(caller, async (tx) => {
        const row = await insert(tx, caller.organization_id, body);
        const { id: project_id, name, region } = row;
        await bus.announce(tx, caller.organization_id, "project.created", { project_id, name, region });
        return row;
      });
    },

    update: (caller: Caller, id: string, body: v.InferOutput<typeof projectChanges>) =>
      store.transaction(caller, async (tx) => {
        const before = await get(caller.organization_id, id, tx);
        if (body.region !== undefined && body.region !== before.region) {
          throw invalid("region", `is fixed at creation; leave it out, or send "${before.region}"`);
        }
        const name = body.name ?? before.name;
        await refuseTakenName(tx, caller.organization_id, name, id);
        const description = body.description === undefined ? before.description : body.description || null;
        const after = await projects(tx).update({
          ...before,
          name,
          name_folded: foldCase(name),
          description,
          updated_at: clock.iso(),
        });
        publish(tx, before);
        return after ?? before;
      }),

    archive: (caller: Caller, id: string) => move(caller, id, "archive"),
    unarchive: (caller: Caller, id: string) => move(caller, id, "unarchive"),

    /** Deletes a project. If it has more than a batch of records, hides it, and the job `projects.clear` deletes it. */
    remove: (caller: Caller, id: string) =>
      store.transaction(caller, async (tx) => {
        const { organization_id, name, region } = await get(caller.organization_id, id, tx);
        const key = { organization_id, id };
        await onRemove(tx, key);
        if (!(await removeBatch(tx, key))) {
          await projects(tx).hide({ project_id: id });
          await projects(tx).freeName(key);
          await queue.add(tx, "projects.clear", key);
        }
        await bus.announce(tx, caller.organization_id, "project.deleted", { project_id: id, name, region });
        await onRemoved(tx, key);
      }),

    /** The job `projects.clear`: removes one batch per run. */
    clear: async (key: Key): Promise<Outcome> =>
      snoozeUntil(async (tx) => ((await removeBatch(tx, key)) ? undefined : clock.now()), key),

    /** The given project, or else the organization's only one; undefined if there is none. It may be archived. */
    async forPush(tx: Tx, organization_id: string, id: string | undefined) {
      if (id !== undefined) return projects(tx).find({ organization_id, id });
      const two = await projects(tx).newestTwo({ organization_id });
      return two.length === 1 ? two[0] : undefined;
    },

    /** The project for a new deployment. Throws `not_found` and `project_archived`. */
    async forDeployment(tx: Tx, organization_id: string, id: string) {
      const project = await get(organization_id, id, tx);
      if (project.status === "archived")
        throw new Problem("project_archived", "the project is archived; unarchive it before deploying");
      return project;
    },
  };
}
