import type { Clock } from "../kernel/clock.ts";
import { isoOf } from "../kernel/clock.ts";
import { milliseconds } from "../kernel/duration.ts";
import { discard, done, type Job, type Outcome, retry, snooze } from "../kernel/job.ts";
import { type Log, reasonOf } from "../kernel/log.ts";
import { check } from "../kernel/validation.ts";
import type { Store } from "../store/store.ts";
import type { Row } from "../store/tables.ts";
import { jobsRepository, suspect } from "./repository.ts";
import { settle } from "./settle.ts";

const lease_ms = milliseconds("60s");
/** A job that took its process down this often is not run again. */
const crashesAllowed = 3;

type JobRow = Row<"jobs">;

/** Whether a job is run by itself. */
export const isSuspect = (row: Pick<JobRow, "crashes">): boolean => row.crashes >= suspect;

const goOn = (next: number | undefined, now: number): Outcome =>
  next === undefined ? done() : snooze(Math.max(0, next - now));

/** How much work there is. */
export interface QueueLoad {
  readonly waiting: number;
  readonly running: number;
  /** When the earliest waiting job is due; undefined where none waits. */
  readonly due_at: number | undefined;
}

/** Claims what is due, runs it, and settles it in a transaction, fenced by its attempt. */
export interface Runner {
  /** What is due; `alone` where nothing runs, which lets a suspect be claimed, by itself, when it is the first. */
  claim(alone?: boolean): Promise<JobRow[]>;
  run(row: JobRow): Promise<void>;
  /** When the earliest waiting job is due, without periodic ones where only work that ends counts; undefined where none waits. */
  next(only?: "work that ends"): Promise<number | undefined>;
  load(): Promise<QueueLoad>;
  /** Hands back what still runs, without counting a crash. */
  release(): Promise<void>;
  /** Takes back every job that an earlier process left behind. */
  reclaim(): Promise<void>;
  /** Renews the leases of what runs in this process, and takes back those that ran out elsewhere. */
  keepAlive(): Promise<void>;
}

export function createRunner(ports: {
  store: Store;
  clock: Clock;
  log: Log;
  owner: string;
  jobs: readonly Job[];
  services: unknown;
}): Runner {
  const { store, clock, log, services } = ports;
  const rows = store.using(jobsRepository);
  const kinds = new Map(ports.jobs.map((job) => [job.kind, job]));
  const running = new Map<string, number>();
  const until = () => isoOf(clock.now() + lease_ms);

  const attempt = async (row: JobRow, job: Job): Promise<Outcome> => {
    try {
      return await job.run(check(job.args, JSON.parse(row.args)), services);
    } catch (error) {
      log.error("a job failed unexpectedly", {
        job: row.id,
        kind: row.kind,
        reason: reasonOf(error),
      });
      // The reason reaches people, and chats; a fault that nobody foresaw may hold anything.
      return retry(`the service failed unexpectedly; its log has the reason under ${row.id}`);
    }
  };

  /** Results that the store would not take: the job is held until it does, or nothing would ever wake it again. */
  const unstored: JobRow[] = [];
  const storeLate = async () => {
    for (let row = unstored.shift(); row; row = unstored.shift()) {
      const late = row;
      await conclude(late, kinds.get(late.kind), retry("its result could not be stored")).catch((error) => {
        unstored.push(late);
        throw error;
      });
    }
  };

  const tellLost = ({ id, kind }: JobRow) =>
    log.warn("a job's late answer was dropped: its lease was lost", { job: id, kind });

  /** Jobs that are done and write nothing are removed together, as many as end before the commit: none could fail alone. */
  let removal: { readonly ended: JobRow[]; readonly stored: Promise<void> } | undefined;
  const remove = (row: JobRow): Promise<void> => {
    if (!removal) {
      const ended: JobRow[] = [];
      const close = () => {
        removal = undefined;
      };
      const stored = store.transaction(async (tx) => {
        close();
        for (const one of ended) if ((await rows(tx).remove(one)) === 0) tellLost(one);
      });
      // One that could not even begin must take nobody else in.
      stored.catch(close);
      removal = { ended, stored };
    }
    removal.ended.push(row);
    return removal.stored;
  };

  const conclude = (row: JobRow, job: Job | undefined, given: Outcome) =>
    store.transaction(async (tx) => {
      const outcome = given.kind === "until" ? goOn(await given.next(tx), clock.now()) : given;
      const crashed = row.crashes >= crashesAllowed;
      const verdict = crashed
        ? ({ kind: "give_up", reason: "worker_crashed" } as const)
        : settle(outcome, { failures: row.failures, retries: job?.retries ?? [] }, clock.now());
      const { id, attempt } = row;
      const held =
        verdict.kind === "again"
          ? await rows(tx).reschedule({
              id,
              attempt,
              run_at: isoOf(verdict.at),
              failures: verdict.failures,
              args: "args" in verdict ? JSON.stringify(verdict.args) : row.args,
            })
          : await rows(tx).remove({ id, attempt });
      if (held === 0) return tellLost(row);
      if (verdict.kind === "give_up") {
        log.warn("a job was given up", {
          job: id,
          kind: row.kind,
          reason: verdict.reason,
        });
        await job?.exhausted(check(job.args, JSON.parse(row.args)), verdict.reason, services, tx);
      } else if (outcome.kind === "done" || outcome.kind === "snooze") {
        await outcome.write?.(tx);
      } else if (outcome.kind === "discard") {
        (job ? log.debug : log.warn)("a job was discarded", {
          job: id,
          kind: row.kind,
          reason: outcome.reason,
        });
      }
    });

  return {
    async claim(alone = true) {
      await storeLate();
      const now = clock.iso();
      const next = await rows().next({});
      if (next === undefined || next.run_at > now) return [];
      const wanted = { now, owner: ports.owner, until: until() };
      const claimed = await store.transaction((tx) =>
        alone && isSuspect(next) ? rows(tx).claimSuspect(wanted) : rows(tx).claim(wanted),
      );
      for (const row of claimed) running.set(row.id, row.attempt);
      // RETURNING promises no order.
      return claimed.sort((a, b) => (a.run_at < b.run_at || (a.run_at === b.run_at && a.id < b.id) ? -1 : 1));
    },
    async run(row) {
      const job = kinds.get(row.kind);
      const outcome =
        row.crashes >= crashesAllowed || !job
          ? discard(job ? "it took its process down" : `nobody runs jobs of the kind ${row.kind}`)
          : await attempt(row, job);
      try {
        await (outcome.kind === "done" && !outcome.write ? remove(row) : conclude(row, job, outcome));
      } catch (error) {
        log.error("a job's result could not be stored", {
          job: row.id,
          kind: row.kind,
          reason: reasonOf(error),
        });
        unstored.push(row);
      } finally {
        running.delete(row.id);
      }
    },
    async next(only) {
      if (unstored.length > 0) return clock.now() + 1_000;
      const row = await (only ? rows().nextOneOff({}) : rows().next({}));
      return row && Date.parse(row.run_at);
    },
    async load() {
      const [count, next] = [await rows().waiting({}), await rows().next({})];
      return { waiting: count, running: running.size, due_at: next && Date.parse(next.run_at) };
    },
    async release() {
      await store.transaction((tx) => rows(tx).release({ owner: ports.owner }));
    },
    async reclaim() {
      const taken = await store.transaction((tx) => rows(tx).reclaim({}));
      if (taken > 0) log.info("work of an earlier run was taken up again", { jobs: taken });
    },
    async keepAlive() {
      await store.transaction(async (tx) => {
        for (const [id, number] of running) await rows(tx).renew({ id, attempt: number, until: until() });
        await rows(tx).rescue({ now: clock.iso() });
      });
    },
  };
}
