import type { Clock } from "../kernel/clock.ts";
import { isoOf, systemTimer } from "../kernel/clock.ts";
import { isLogged } from "../kernel/errors.ts";
import { discard, done, type Job, type Outcome, snooze } from "../kernel/job.ts";
import { type Log, reasonOf } from "../kernel/log.ts";
import { milliseconds } from "../kernel/text/duration.ts";
import { check } from "../kernel/validation.ts";
import { createTimeKeeper } from "../store/service-state.ts";
import type { Store } from "../store/store.ts";
import type { Row } from "../store/tables.ts";
import { holdOf, isGivenUp, watch_ms } from "./crash-count.ts";
import { createLeases } from "./leases.ts";
import { jobsRepository, suspectAfter } from "./repository.ts";
import { always, claimableJobs, declaredKind, patternOf } from "./runtime-jobs.ts";
import { exhaust, type Failure, failed, scopeOf, settle } from "./settle.ts";

/** The pause before a job runs again if its work ended while the store accepted no writes. */
const afterStore_ms = milliseconds("1s");
type JobRow = Row<"jobs">;
type Ended = Outcome | Failure;
const snoozeOrDone = (next: number | undefined, now: number): Outcome =>
  next === undefined ? done() : snooze(Math.max(0, next - now));

function fittingArgs(job: Job, row: JobRow): unknown {
  try {
    return check(job.args, JSON.parse(row.args));
  } catch {
    return undefined;
  }
}

export interface QueueLoad {
  readonly waiting: number;
  readonly running: number;
  /** The due time of the earliest waiting job; undefined for an empty queue. */
  readonly due_at: number | undefined;
}

export type Runner = ReturnType<typeof createRunner>;

/** Claims due jobs, runs them, and settles each in a transaction that its attempt number fences. */
export function createRunner(ports: {
  store: Store;
  clock: Clock;
  log: Log;
  owner: string;
  /** Whether other processes run jobs from the same rows. Then only an expired lease proves that a process ended. */
  isShared?: boolean;
  runtimeId?: string | undefined;
  jobs: readonly Job[];
  services: unknown;
}) {
  const { store, clock, log, services } = ports;
  const rows = store.using(jobsRepository);
  const storeTime = createTimeKeeper(store, clock);
  const kinds = new Map(ports.jobs.map((job) => [job.kind, job]));
  const mine = claimableJobs(rows, ports.isShared ? patternOf(ports.runtimeId) : undefined);
  const leases = createLeases({ store, clock, rows });

  const attempt = async (row: JobRow, job: Job): Promise<Ended> => {
    try {
      return await job.run(check(job.args, JSON.parse(row.args)), services, leases.of(row));
    } catch (error) {
      if (isLogged(error)) return snooze(afterStore_ms);
      log.error("a job failed unexpectedly", { job: row.id, kind: row.kind, reason: reasonOf(error) });
      // Reasons are shown to users and posted to chats, and an unexpected error may contain secrets.
      return failed(`the service failed unexpectedly; its log has the reason under ${row.id}`);
    }
  };

  /** Runs a job. Clears a suspect once it has run for the watch period. */
  const watched = async (row: JobRow, work: () => Promise<Ended>): Promise<Ended> => {
    if (row.crashes < suspectAfter) return work();
    // If the store refuses this write, the next end of the process counts as a strike.
    const clear = () => void store.transaction("rows", (tx) => rows(tx).resetRunning(row)).catch(() => {});
    return work().finally(systemTimer(watch_ms, clear));
  };

  /**
   * Jobs whose result the store refused. They settle before the next claim; otherwise none would run again. If the
   * store accepted no writes at all, they keep their result, because the work is done. Otherwise they fail.
   */
  const unstored: (readonly [JobRow, Ended])[] = [];
  const settleUnstored = async () => {
    for (let next = unstored.shift(); next; next = unstored.shift()) {
      const [row, outcome] = next;
      await settleJob(row, kinds.get(declaredKind(row.kind)), outcome).catch((error) => {
        unstored.push([row, outcome]);
        throw error;
      });
    }
  };

  const logLostLease = ({ id, kind }: JobRow) =>
    log.warn("a job's late result was dropped: its lease was lost", { job: id, kind });

  /** Jobs that end without a write share a transaction: 1.5 times the jobs a second (bench `jobs`). */
  let removal: { readonly finished: JobRow[]; readonly stored: Promise<void> } | undefined;
  const remove = (row: JobRow): Promise<void> => {
    if (!removal) {
      const finished: JobRow[] = [];
      const close = () => {
        removal = undefined;
      };
      const stored = store.transaction("rows", async (tx) => {
        close();
        for (const one of finished) if ((await rows(tx).remove(one)) === 0) logLostLease(one);
      });
      // A transaction that failed to begin takes no more jobs.
      stored.catch(close);
      removal = { finished, stored };
    }
    removal.finished.push(row);
    return removal.stored;
  };

  const settleJob = (row: JobRow, job: Job | undefined, given: Ended) =>
    store.transaction(scopeOf(row, job, given), async (tx) => {
      if (given.kind === "until") await mine.lock(tx, row);
      const outcome = given.kind === "until" ? snoozeOrDone(await given.next(tx), clock.now()) : given;
      const args = job && fittingArgs(job, row);
      // Invalid arguments may be from another version, whose servers will run the job.
      const again = job !== undefined && (job.again || args === undefined);
      const verdict = isGivenUp(row)
        ? exhaust(again, "worker_crashed", clock.now())
        : settle(outcome, { failures: row.failures, again }, clock.now());
      const { id, attempt, kind } = row;
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
      if (held === 0) return logLostLease(row);
      if (verdict.kind === "again") await storeTime(tx);
      if ("reason" in verdict) {
        const ends = verdict.kind === "again" ? "a job begins again in a minute" : "a job was given up";
        log.warn(ends, { job: id, kind, reason: verdict.reason });
        if (args !== undefined) await job?.exhausted(args, verdict.reason, services, tx);
      } else if (outcome.kind === "done" || outcome.kind === "snooze") {
        await outcome.write?.(tx);
      } else if (outcome.kind === "discard") {
        (job ? log.debug : log.warn)("a job was discarded", { job: id, kind, reason: outcome.reason });
      }
    });

  /** Gives jobs back, and counts a crash for each. Reads the clock in the transaction: setting it moves due times. */
  const takeBack = async (end: () => string) => {
    const reclaimed = await store.transaction("rows", async (tx) => {
      const before = end();
      const suspected = await rows(tx).suspected({ before });
      // Without other processes on the same rows, the waiting suspects did not end the process, so they are cleared.
      if (before === always) await rows(tx).resetWaiting({});
      const count = await rows(tx).reclaim({ before });
      for (const row of suspected) await rows(tx).hold({ id: row.id, run_at: isoOf(clock.now() + holdOf(row)) });
      return count;
    });
    if (reclaimed > 0) log.info("jobs of an earlier process were resumed", { jobs: reclaimed });
  };

  return {
    async claim(): Promise<JobRow[]> {
      await settleUnstored();
      const next = await mine.next();
      if (next === undefined || next.run_at > clock.iso()) return [];
      let end = 0;
      const claimed = await store.transaction("rows", (tx) => {
        end = leases.end();
        return mine.claim(tx, { now: clock.iso(), owner: ports.owner, until: isoOf(end) });
      });
      for (const row of claimed) leases.begin(row, end);
      // RETURNING does not guarantee an order.
      return claimed.sort((a, b) => (a.run_at < b.run_at || (a.run_at === b.run_at && a.id < b.id) ? -1 : 1));
    },
    async run(row: JobRow): Promise<void> {
      const job = kinds.get(declaredKind(row.kind));
      const outcome =
        isGivenUp(row) || !job
          ? discard(job ? "it crashed its process" : `no job of the kind ${row.kind} is declared`)
          : await watched(row, () => attempt(row, job));
      try {
        await (outcome.kind === "done" && !outcome.write ? remove(row) : settleJob(row, job, outcome));
      } catch (error) {
        if (isLogged(error)) unstored.push([row, outcome]);
        else {
          log.error("a job's result could not be stored", { job: row.id, kind: row.kind, reason: reasonOf(error) });
          unstored.push([row, failed("its result could not be stored")]);
        }
      } finally {
        leases.release(row);
      }
    },
    /** The due time of the earliest waiting job, or of the earliest one-off job; undefined if there is none. */
    async next(only?: "one-off"): Promise<number | undefined> {
      if (unstored.length > 0) return clock.now() + 1_000;
      const row = await (only ? rows().nextOneOff({}) : mine.next());
      return row && Date.parse(row.run_at);
    },
    async load(): Promise<QueueLoad> {
      const [count, next] = [await rows().waiting({}), await rows().next({})];
      return { waiting: count, running: leases.count, due_at: next && Date.parse(next.run_at) };
    },
    /** Gives running jobs back to the queue, without counting a crash. */
    async release() {
      await store.transaction("rows", (tx) => rows(tx).release({ owner: ports.owner }));
    },
    /** Gives the jobs that earlier processes left running back to the queue, and counts a crash for each. */
    reclaim: () => takeBack(mine.ended(clock)),
    /** Does the same for jobs of other processes whose leases have expired. */
    async rescue() {
      if (await rows().expired({ now: clock.iso() })) await takeBack(clock.iso);
    },
    keepAlive: leases.keepAlive,
  };
}
