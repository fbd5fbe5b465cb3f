import type { App, CommandEnd, Schedule } from "../../drivers/deployment/contract.ts";
import { type AppKey, keyOf } from "../../features/environments/live-apps.ts";
import { kindAt } from "../../jobs/runtime-jobs.ts";
import { isoOf } from "../../kernel/clock.ts";
import { discard, type Outcome, snooze } from "../../kernel/job.ts";
import { reasonOf } from "../../kernel/log.ts";
import { within } from "../../kernel/node/promises.ts";
import { AbortController } from "../../kernel/node/web.ts";
import type { EnvironmentRange } from "../../kernel/page.ts";
import { nextSlot } from "../../kernel/text/cron.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Row } from "../../store/tables.ts";
import type { AppLogs } from "./logs.ts";
import type { Placement } from "./placement.ts";
import type { AppPorts } from "./ports.ts";
import { appsRepository } from "./repository.ts";
import { schedulesRepository } from "./schedules-repository.ts";
import type { Supervisor } from "./supervisor.ts";

interface Ports extends Pick<AppPorts, "store" | "clock" | "ids" | "queue" | "bus" | "feed" | "runtime"> {
  readonly logs: Pick<AppLogs, "append">;
  readonly placement: Pick<Placement, "runtimeId" | "isHere">;
  readonly appOf: (key: AppKey) => Promise<App | undefined>;
  readonly supervisor: Pick<Supervisor, "isLeft"> | undefined;
}

export type ScheduleKey = AppKey & { readonly name: string };
type Run = Row<"schedule_runs">;

/** A job settles at least this often, so that it never holds a lease for long. */
const maxStep_ms = 5_000;
/** How often a schedule checks whether its stopped app has been started. */
const stopped_ms = 60_000;
/** The most runs of an organization at once. Many of its schedules may be due in the same minute. */
const maxRuns = 10;
/** How long a due run waits before it looks for room again. */
const full_ms = 1_000;

const nameOf = ({ project_id, environment, name }: ScheduleKey) => `${project_id} ${environment} ${name}`;

/** The schedules of live releases: each has one job, which runs its command and waits for the next time. */
export function createSchedules(ports: Ports) {
  const { store, clock, ids, queue, bus, logs, runtime, placement, appOf } = ports;
  const [rows, apps] = [store.using(schedulesRepository), store.using(appsRepository)];
  const running = new Map<
    string,
    { readonly run: Run; readonly ended: Promise<CommandEnd>; readonly end: () => void }
  >();
  /** The runs of this process, until their end is stored. All other stored runs without an end were interrupted. */
  const ours = new Set<string>();
  const starting = new Set<Run>();

  const nextOf = (cron: string) => nextSlot(cron, clock.now()) ?? clock.now() + 366 * 86_400_000;

  const addJob = (tx: Tx, of: ScheduleKey, next_at: string) =>
    queue.addUnique(
      tx,
      kindAt("apps.schedule", placement.runtimeId),
      { ...keyOf(of), name: of.name },
      `${kindAt("schedule", placement.runtimeId)} ${nameOf(of)}`,
      Math.max(0, Date.parse(next_at) - clock.now()),
    );

  const publish = (tx: Tx, { organization_id, project_id: id }: Run) =>
    ports.feed.publish(tx, { kind: "record", organization_id, id });

  const endRun = async (tx: Tx, run: Run, { exit_code, reason }: CommandEnd): Promise<void> => {
    const status = reason === undefined ? "succeeded" : "failed";
    if ((await rows(tx).endRun({ id: run.id, status, ended_at: clock.iso(), exit_code })) === 0) return;
    publish(tx, run);
    if (reason === undefined) return;
    const { id: run_id, project_id, environment, name } = run;
    tx.afterCommit(() => logs.append(keyOf(run), [{ level: "error", message: `[${name}] The run ${reason}` }]));
    await bus.announce(tx, run.organization_id, "schedule.failed", {
      ...{ run_id, project_id, environment, schedule: name, exit_code },
      reason: `The run ${reason}`,
    });
  };

  /** Ends the runs of stopped servers before their environments continue here. */
  const endInterrupted = async (tx: Tx, key: AppKey): Promise<void> => {
    const ended = { exit_code: null, reason: "was interrupted: the server ended" };
    for (const run of await rows(tx).running(key)) if (!ours.has(run.id)) await endRun(tx, run, ended);
  };

  const begin = (key: ScheduleKey, row: Row<"schedules">, run: Run): void => {
    const ending = new AbortController();
    const execute = async (): Promise<CommandEnd> => {
      const app = await appOf(keyOf(key));
      if (!app || !runtime?.command) return { exit_code: null, reason: "found no live release" };
      return runtime.command(app, row, (line) => logs.append(keyOf(key), [line]), ending.signal);
    };
    const ended = execute().catch((error) => ({ exit_code: null, reason: `could not begin: ${reasonOf(error)}` }));
    running.set(nameOf(key), { run, ended, end: () => ending.abort() });
  };

  return {
    /**
     * Replaces an environment's schedules by those of the new live release. A schedule with unchanged times keeps its
     * next run.
     */
    async set(tx: Tx, key: AppKey, given: readonly Schedule[]): Promise<void> {
      await endInterrupted(tx, key);
      const before = await rows(tx).ofEnvironment(key);
      for (const { name } of before) await rows(tx).remove({ ...key, name });
      for (const one of given) {
        const same = before.find(({ name, cron }) => name === one.name && cron === one.cron);
        const row = { ...keyOf(key), ...one, next_at: same?.next_at ?? isoOf(nextOf(one.cron)) };
        await rows(tx).insert(row);
        await addJob(tx, { ...key, name: one.name }, row.next_at);
      }
    },

    /** Call at a start and after a takeover: runs were interrupted, and jobs may be missing. */
    async recover(keys: readonly AppKey[]): Promise<void> {
      for (const key of keys) {
        const [its, left] = [await rows().ofEnvironment(key), await rows().running(key)];
        if (its.length + left.length === 0) continue;
        await store.transaction(keyOf(key), async (tx) => {
          await endInterrupted(tx, key);
          for (const { name, next_at } of await rows(tx).ofEnvironment(key))
            await addJob(tx, { ...key, name }, next_at);
        });
      }
    },

    async run(key: ScheduleKey): Promise<Outcome> {
      const now = running.get(nameOf(key));
      if (now) {
        const end = await within(maxStep_ms, now.ended, undefined);
        if (!end) return snooze(1);
        running.delete(nameOf(key));
        const row = await rows().find(key);
        const write = async (tx: Tx) => {
          await endRun(tx, now.run, end);
          tx.afterCommit(() => ours.delete(now.run.id));
        };
        return snooze(Math.max(1, row ? Date.parse(row.next_at) - clock.now() : 1), write, keyOf(key));
      }
      const row = await rows().find(key);
      if (!row) return discard("the live release has no such schedule");
      const app = await apps().find(key);
      if (!app || !placement.isHere(app)) return discard("its environment runs on another server");
      const wait_ms = Date.parse(row.next_at) - clock.now();
      if (wait_ms > 0) return snooze(wait_ms);
      if (ports.supervisor?.isLeft(key)) return snooze(stopped_ms);
      const { project_id, environment, name, organization_id } = row;
      const all = [...starting, ...[...running.values()].map((one) => one.run)];
      if (all.filter((one) => one.organization_id === organization_id).length >= maxRuns) return snooze(full_ms);
      const started = { status: "running", started_at: clock.iso(), ended_at: null, exit_code: null } as const;
      const run: Run = { id: ids.next("run"), project_id, environment, organization_id, name, ...started };
      ours.add(run.id);
      starting.add(run);
      let isBegun = false;
      try {
        isBegun = await store.transaction(keyOf(key), async (tx) => {
          if (!(await rows(tx).find(key))) return false;
          await rows(tx).insertRun(run);
          publish(tx, run);
          await rows(tx).pruneRuns(key);
          await rows(tx).setNext({ ...key, next_at: isoOf(nextOf(row.cron)) });
          return true;
        });
      } finally {
        starting.delete(run);
        if (isBegun) begin(key, row, run);
        else ours.delete(run.id);
      }
      return snooze(1);
    },

    /** Ends the runs of a deleted environment. Resolves once they have ended, so its data may be removed. */
    async stop(key: AppKey): Promise<void> {
      const its = [...running.values()].filter(
        ({ run }) => run.project_id === key.project_id && run.environment === key.environment,
      );
      for (const { end } of its) end();
      await Promise.all(its.map(({ ended }) => ended));
    },

    async removed(tx: Tx, key: AppKey): Promise<void> {
      await rows(tx).removeAll(key);
      await rows(tx).removeRuns(key);
    },
    async projectRemoved(tx: Tx, project_id: string): Promise<void> {
      await rows(tx).removeOfProject({ project_id });
      await rows(tx).removeRunsOfProject({ project_id });
    },

    ofRange: async (range: EnvironmentRange, tx?: Tx) => rows(tx).ofRange(range),
    runs: rows,
  };
}

export type Schedules = ReturnType<typeof createSchedules>;
