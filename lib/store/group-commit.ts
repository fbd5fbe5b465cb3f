import type { Database } from "better-sqlite3";
import { systemTimer } from "../kernel/clock.ts";
import { setImmediate } from "../kernel/system.ts";
import type { Together } from "./group-reads.ts";
import { pauses } from "./pauses.ts";
import { createBegin, locked, prepareControl } from "./transaction-control.ts";

interface Member {
  readonly work: () => Promise<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** A group that the guard has ended ignores further results of its members. */
interface Group {
  ended: boolean;
}

/**
 * A group starts no member after this many statements, which are a few milliseconds of work. A time limit would group
 * the same calls differently on another machine, and seeded services would give other bytes.
 */
const maxStatements = 500;

export interface GroupCommit {
  /** Queues a transaction for the next group. */
  add<T>(work: () => Promise<T>): Promise<T>;
  /** Called before each statement that reads. */
  beforeRead(): void;
  /** Called before each statement that writes; answers whether a write transaction is open. */
  beforeWrite(): boolean;
  /** As `Engine.foreignCommitVersion`. A member that awaits something other than the store lets reads see the rows of its group. */
  foreignCommitVersion(): number;
  /** The running transactions that share one commit, with the answers that they have got. */
  present(): Together | undefined;
  /** Runs synchronous `work` between two groups. */
  betweenTransactions<T>(work: () => T): Promise<T>;
  /** Resolves when no transaction is queued. */
  drain(): Promise<void>;
}

/**
 * Group commit. The transactions that are queued when a tick of the event loop ends run one after the other in one
 * `BEGIN IMMEDIATE`. One COMMIT, and so one fsync, makes all of them durable; only then are their promises resolved. A member
 * that fails is rolled back alone: where it has written, the group is rolled back and runs again, each member in a savepoint
 * of its own. (A savepoint for each from the start: a POST takes 1.08 times the processor time.)
 *
 * A member may await the store only. The store answers within the same tick, so no other code runs between BEGIN and
 * COMMIT, and no reader sees uncommitted rows. A member that awaits anything else is rolled back with an error.
 *
 * A long queue is split into groups of `maxStatements`, and the event loop runs between them.
 *
 * Reads outside of a transaction share one snapshot a tick, which ends with the tick or before the first write. Locking
 * the file for each read took a tenth of a GET (bench `http`: 0.91 of the processor time with the shared snapshot).
 *
 * `isTrusted` is called before each group. It throws after an I/O error, and then nothing is written any more.
 */
export function createGroupCommit(
  database: Database,
  translate: (error: unknown) => unknown,
  isTrusted: () => void = () => {},
): GroupCommit {
  // The pauses between the tries are longer, and leave the event loop free.
  if (!database.memory) database.pragma("busy_timeout = 5");
  const control = prepareControl(database);
  const begin = createBegin(control);
  let queue: Member[] = [];
  let current: Group = { ended: true };
  let flushScheduled = false;
  let drained: (() => void)[] = [];
  let snapshotOpen = false;
  let knownDataVersion: number | undefined;
  let rollbacks = 0;
  /** Statements since the current group began, and those of them that write. */
  let statements = 0;
  let writes = 0;
  let present: Together = { answers: new Map() };

  const schedule = () => {
    if (flushScheduled) return;
    flushScheduled = true;
    setImmediate(flush);
  };

  const endSnapshot = () => {
    if (!snapshotOpen) return;
    snapshotOpen = false;
    // It has written nothing. After a read of a damaged page a COMMIT throws, and would end the process.
    if (database.open && database.inTransaction) control.rollback.run();
  };

  const flush = () => {
    flushScheduled = false;
    if (!current.ended) return; // The end of the running group schedules the next one.
    endSnapshot();
    const members = queue;
    queue = [];
    const group: Group = { ended: false };
    current = group;
    setImmediate(function guard() {
      if (group.ended) return;
      if (pauses.current?.isOpen()) return void setImmediate(guard);
      group.ended = true;
      fail(members, new Error("a transaction awaited something other than the store; it was rolled back"));
    });
    // run() handles every error: it rejects the members.
    void run(members, group);
  };

  const fail = (members: readonly Member[], error: unknown) => {
    if (database.open && database.inTransaction) control.rollback.run();
    rollbacks += 1;
    for (const member of members) member.reject(translate(error));
    notifyDrained();
  };

  const notifyDrained = () => {
    if (queue.length > 0) schedule();
    if (flushScheduled) return;
    for (const resolve of drained) resolve();
    drained = [];
  };

  const putBack = (members: readonly Member[], group: Group) => {
    group.ended = true;
    queue = members.concat(queue);
    flushScheduled = true;
    systemTimer(locked.pause_ms, flush, { hold: true });
  };

  /** Runs the members in the open transaction. Undefined where one of them must be undone and has no savepoint. */
  const runMembers = async (members: Member[], group: Group, inSavepoints: boolean) => {
    const answers: (() => void)[] = [];
    statements = 0;
    knownDataVersion = undefined;
    present = { answers: new Map() };
    for (const [i, member] of members.entries()) {
      if (statements >= maxStatements) {
        queue = members.splice(i).concat(queue);
        break;
      }
      const writesBefore = writes;
      if (inSavepoints) control.savepoint.run();
      try {
        const value = await member.work();
        if (group.ended) break;
        if (inSavepoints) control.release.run();
        answers.push(() => member.resolve(value));
      } catch (error) {
        if (group.ended) break;
        // A full disk or an I/O error ends the whole transaction, not only the savepoint.
        if (members.length === 1 || !database.inTransaction) throw error;
        if (inSavepoints) {
          control.rollbackToSavepoint.run();
          control.release.run();
          present = { answers: new Map() };
        } else if (writes !== writesBefore) return undefined;
        answers.push(() => member.reject(translate(error)));
      }
    }
    return answers;
  };

  const run = async (members: Member[], group: Group) => {
    let answers: (() => void)[] | undefined;
    try {
      isTrusted();
      if (!begin()) return putBack(members, group);
      answers = await runMembers(members, group, false);
      if (!answers) {
        control.rollback.run();
        rollbacks += 1;
        if (!begin()) return putBack(members, group);
        answers = await runMembers(members, group, true);
      }
      if (group.ended) return;
      // SQLite may have ended the transaction while the member caught the error and went on.
      if (!inWriteTransaction()) throw new Error("the transaction had ended before its commit");
      control.commit.run();
      group.ended = true;
    } catch (error) {
      if (group.ended) return;
      group.ended = true;
      fail(members, error);
      return;
    }
    for (const answer of answers ?? []) answer();
    notifyDrained();
  };

  const inWriteTransaction = () => database.inTransaction && !snapshotOpen;

  const beforeRead = () => {
    statements += 1;
    // A database in memory has no file to lock.
    if (database.memory || database.inTransaction) return;
    control.beginRead.run();
    snapshotOpen = true;
    knownDataVersion = undefined;
    setImmediate(endSnapshot);
  };

  return {
    add: <T>(work: () => Promise<T>) =>
      new Promise<T>((resolve, reject) => {
        queue.push({ work, resolve: resolve as (value: unknown) => void, reject });
        schedule();
      }),
    beforeRead,
    beforeWrite() {
      statements += 1;
      writes += 1;
      return inWriteTransaction();
    },
    foreignCommitVersion() {
      if (database.memory) return rollbacks;
      beforeRead();
      try {
        knownDataVersion ??= control.dataVersion.get() as number;
        // Both only grow, so the sum is never the same again.
        return knownDataVersion + rollbacks;
      } catch (error) {
        throw translate(error);
      }
    },
    present: () => (current.ended ? undefined : present),
    betweenTransactions: (work) =>
      new Promise((resolve, reject) => {
        const attempt = () => {
          endSnapshot();
          // A member that awaits something else holds its transaction until the guard of the next tick ends it.
          if (database.inTransaction) return void setImmediate(attempt);
          try {
            resolve(work());
          } catch (error) {
            reject(error);
          }
        };
        setImmediate(attempt);
      }),
    drain: () =>
      queue.length === 0 && !flushScheduled && current.ended
        ? Promise.resolve()
        : new Promise((resolve) => {
            drained.push(resolve);
          }),
  };
}
