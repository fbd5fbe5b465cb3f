import type * as v from "valibot";
import type { DeploymentDriver } from "../../drivers/deployment/contract.ts";
import { isoOf, latestInstant } from "../../kernel/clock.ts";
import { invalid, orNotFound, Problem } from "../../kernel/errors.ts";
import { madeBy } from "../../kernel/maker.ts";
import { type FollowOptions, parseLastEventId, Stream } from "../../kernel/node/stream.ts";
import type { Caller } from "../../kernel/operation.ts";
import { emptyList, mapPage, paginate, paginateLong } from "../../kernel/page.ts";
import { jsonText } from "../../kernel/result-text.ts";
import { isTerminal } from "../../kernel/state-machine.ts";
import { foldCase } from "../../kernel/text/case-folding.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { LogsQuery } from "../../kernel/validation.ts";
import type { Row } from "../../store/tables.ts";
import type { Core } from "../core.ts";
import type { LiveApps } from "../environments/live-apps.ts";
import type { EnvironmentsService } from "../environments/service.ts";
import type { WaitOptions } from "../events/wait-for-change.ts";
import type { ProjectsService } from "../projects/service.ts";
import type { ScenariosService } from "../scenarios/service.ts";
import { createStepper } from "../scenarios/stepper.ts";
import { isStepped, storedOutcome } from "../scenarios/stored-outcome.ts";
import { createCancellation } from "./cancellation.ts";
import { followLogs, withoutControlCharacters } from "./logs.ts";
import { createPushes } from "./pushes.ts";
import { deploymentBatch, deploymentsRepository, logBatch } from "./repository.ts";
import type { Rollout } from "./rollout.ts";
import type { deploymentsQuery, newDeployment } from "./schema.ts";
import type { DeploymentOrder, Source } from "./source.ts";
import { lifecycle } from "./states.ts";
import { sourceOf } from "./stored-releases.ts";

type Deployment = Row<"deployments">;
type Shown = Pick<Deployment, "id" | "project_id" | "environment">;

export interface Ports extends Pick<Core, "store" | "bus" | "clock" | "ids" | "waiting"> {
  readonly projects: ProjectsService;
  readonly environments: EnvironmentsService;
  readonly driver: Pick<DeploymentDriver, "delay">;
  /** The rule that a source breaks; undefined if it can be deployed. */
  readonly refusalOf: (source: Source) => string | undefined;
  readonly rollout: Rollout;
  readonly apps: Pick<LiveApps, "urlOf" | "urlsOf" | "runtimeName">;
  /** Texts to add to the first log entry of every deployment. */
  readonly notices: () => readonly string[];
  /** Undefined in the mode `start`, and where the driver takes no scenarios. */
  readonly scenarios: Pick<ScenariosService, "take"> | undefined;
}

export type DeploymentsService = ReturnType<typeof deploymentsService>;

/** Creates, shows and cancels deployments; `rollout.ts` advances them. */
export function deploymentsService(ports: Ports) {
  const { store, bus, clock, ids, projects, environments, driver, rollout, waiting, apps, scenarios } = ports;
  const deployments = store.using(deploymentsRepository);
  const { cancel, ...ofEnvironment } = createCancellation(ports);
  const stepper = createStepper<Deployment>({
    store,
    name: "deployment",
    lifecycle,
    find: (id) => deployments().byId({ id }),
    skipDelay: rollout.skipDelay,
    advance: (id) => rollout.advance(id, null),
    statusOf: ({ status }) => status,
  });

  /** Copies only records with a URL: copying all would slow down a GET on Node 20 (0.80 of a bare server). */
  const withUrl = <T extends object>(shown: T, url: string | null) => (url === null ? shown : { ...shown, url });
  const view = <T extends Shown>(row: T) => withUrl(row, apps.urlOf(row));

  const get = ({ organization_id }: Caller, id: string, tx?: Tx): Promise<Deployment> =>
    orNotFound(deployments(tx).find({ organization_id, id }), "deployment");

  const enqueue = async (tx: Tx, given: DeploymentOrder) => {
    const now = clock.iso();
    const { organization_id, environment, source } = given;
    const { id = ids.next("dep"), version = null, restores = null, revision = null } = given;
    const script = (await scenarios?.take(tx, "deployment", { environment, ...source })) ?? null;
    const stepped = isStepped({ script });
    const delay_ms = stepped ? 0 : driver.delay({ source, environment, outcome: storedOutcome({ script }) });
    const queued = restores ? `Queued: back to version ${version}` : "Queued";
    const message = withoutControlCharacters([queued, ...ports.notices()].join(". "));
    const row: Deployment = {
      id,
      organization_id,
      project_id: given.project_id,
      environment,
      source: jsonText(source),
      version,
      restores,
      revision,
      repo: source.repo && foldCase(source.repo),
      status: lifecycle.initial,
      script,
      ready_at: isoOf(stepped ? latestInstant : clock.now() + delay_ms),
      created_at: now,
      updated_at: now,
      step_at: now,
      completed_at: null,
      deployed_at: null,
      log_entries: 1,
      log_bytes: Buffer.byteLength(message),
      lined_up: (await rollout.isNext(tx, given)) ? 1 : 0,
      pin: given.pin ?? null,
      release: given.release ?? null,
      runtime: apps.runtimeName() ?? null,
      root: given.root === undefined ? await environments.rootOf(tx, given) : given.root,
      created_by: madeBy(given.by),
    };
    await environments.ensure(tx, row);
    await deployments(tx).insert(row);
    rollout.wasQueued(tx, row);
    await rollout.publish(tx, row);
    const entry = { deployment_id: id, seq: 0, organization_id, timestamp: now, level: "info", message } as const;
    await deployments(tx).insertLog(entry);
    await bus.announce(tx, organization_id, "deployment.queued", rollout.eventData(row));
    if (row.lined_up && !stepped) await rollout.scheduleStart(tx, row, delay_ms);
    return row;
  };

  /** With `wait.seconds`: returns when the deployment has ended, or after that time. */
  const shownAfter = async (caller: Caller, id: string, wait: WaitOptions) => {
    const work = { organization_id: caller.organization_id, id };
    const read = async () => {
      const row = await deployments().shown(work);
      // A scenario may move the deployment at each GET. For an unknown id, `get` throws not_found.
      return row?.script === null ? row : stepper.polled(await get(caller, id));
    };
    const row = await waiting.until(work, wait, read, ({ status }) => isTerminal(lifecycle, status));
    return apps.urlsOf ? withUrl(row, (await apps.urlsOf([row]))(row)) : view(row);
  };

  return {
    ...ofEnvironment,
    ...createPushes({ ...ports, enqueue }),

    get: shownAfter,

    step: async (id: string) => view(await stepper.step(id)),

    async list(
      { organization_id }: Caller,
      { project_id, environment, status, ...page }: v.InferOutput<typeof deploymentsQuery>,
    ) {
      const filters = { organization_id, project_id, environment, status };
      // The index by project lacks the organization: a query for a foreign project would read all its rows.
      const exists = project_id === undefined || (await projects.exists(undefined, organization_id, project_id));
      const { list } = deployments();
      // Simulated deployments have no URLs.
      if (exists && list.texts && apps.runtimeName() === undefined)
        return paginate(page, "deployments", filters, list.texts);
      const pageOfRows = await paginate(page, "deployments", filters, exists ? list : emptyList);
      const urlOf = apps.urlsOf ? await apps.urlsOf(pageOfRows.data) : apps.urlOf;
      return mapPage(pageOfRows, (row) => withUrl(row, urlOf(row)));
    },

    /**
     * The sources of deployments by id. `restores` is the deployment that a rollback brings back; `is_made_to_fail`
     * says that a scenario makes the deployment fail.
     */
    async sources({ organization_id }: Caller, wanted: readonly string[]) {
      const rows = await Promise.all(wanted.map((id) => deployments().find({ organization_id, id })));
      return Object.fromEntries(
        rows.flatMap((row) => {
          if (!row) return [];
          const result = storedOutcome(row)?.result;
          const is_made_to_fail = result === "fail" || result === "rolled_back";
          return [[row.id, { ...sourceOf(row), restores: row.restores, is_made_to_fail }] as const];
        }),
      );
    },

    async logs(caller: Caller, id: string, { follow, ...query }: LogsQuery, { resume, signal }: FollowOptions) {
      const { organization_id } = await get(caller, id);
      if (follow) {
        const changes = () => waiting.changes({ organization_id, id }, signal());
        return new Stream(followLogs(deployments(), { organization_id, id }, changes, parseLastEventId(resume), clock));
      }
      return paginateLong(query, "logs", { organization_id, deployment_id: id }, deployments().logs, {
        key: "seq",
        first: 32,
        keepsLast: true,
      });
    },

    create: (caller: Caller, { project_id, environment, source }: v.InferOutput<typeof newDeployment>) =>
      store.transaction(
        caller,
        async (tx) => {
          const { organization_id } = caller;
          const rule = ports.refusalOf(source);
          if (rule !== undefined) throw invalid("source.type", rule);
          await projects.forDeployment(tx, organization_id, project_id);
          return view(await enqueue(tx, { organization_id, project_id, environment, source, by: caller }));
        },
        (tx) => [
          projects.forDeployment(tx, caller.organization_id, project_id),
          rollout.isNext(tx, { project_id, environment }),
          environments.rootOf(tx, { project_id, environment }),
          ...bus.prefetch(tx, caller.organization_id),
        ],
      ),

    /** Removes a batch of a deleted project's deployments, after their logs. Returns whether none are left. */
    async removeBatch(tx: Tx, project_id: string): Promise<boolean> {
      if ((await deployments(tx).removeLogBatch({ project_id })) === logBatch) return false;
      return (await deployments(tx).removeBatch({ project_id })) < deploymentBatch;
    },

    cancel: (caller: Caller, id: string) => store.transaction(caller, async (tx) => view(await cancel(tx, caller, id))),

    /** Deploys the newest release before this deployment again. This deployment does not change. */
    async rollback(caller: Caller, id: string, wait: WaitOptions) {
      const created = await store.transaction(caller, async (tx) => {
        const from = await get(caller, id, tx);
        await projects.forDeployment(tx, caller.organization_id, from.project_id);
        const target = await deployments(tx).releaseBefore(from);
        if (!target)
          throw new Problem("no_previous_version", `no earlier deployment to ${from.environment} became active`);
        const new_deployment_id = ids.next("dep");
        await bus.announce(tx, caller.organization_id, "deployment.rolled_back", {
          ...rollout.eventData({ ...from, version: target.version }),
          new_deployment_id,
          reason: "manual",
        });
        const { organization_id, project_id, environment } = from;
        const { version, revision, pin, release, root } = target;
        const restored = { source: sourceOf(target), version, restores: target.id, revision, pin, release, root };
        const of = { id: new_deployment_id, organization_id, project_id, environment };
        return view(await enqueue(tx, { ...of, ...restored, by: caller }));
      });
      return wait.seconds ? shownAfter(caller, created.id, wait) : created;
    },
  };
}
