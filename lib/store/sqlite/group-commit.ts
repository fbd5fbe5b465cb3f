import type { Database } from "better-sqlite3";
import { systemTimer } from "../../kernel/clock.ts";
import { afterArrivals } from "../../kernel/node/event-loop.ts";
import { setImmediate } from "../../kernel/node/system.ts";
import { createBegin, locked, prepareControl } from "./transaction-control.ts";

interface Member {
  readonly work: () => Promise<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** A running group. Once the guard has ended it, results of its members are ignored. */
interface Group {
  ended: boolean;
}

/**
 * A group starts no more members after this many statements, a few milliseconds of work. A time limit would make
 * grouping depend on the machine, and seeded services would no longer repeat byte for byte.
 */
const maxStatements = 500;

export type GroupCommit = ReturnType<typeof createGroupCommit>;

/**
 * Group commit. Transactions queued by the end of an event-loop tick, or a few ticks later while connections arrive,
 * run one after the other in one `BEGIN IMMEDIATE`. One COMMIT, and so one fsync, makes all of them durable; then their
 * promises resolve. If a member fails after it has written, the group is rolled back and runs again with a savepoint
 * for each member, so that only the failed one is undone.
 *
 * A member may await only the store, which answers within the same tick. So no other code runs between BEGIN and
 * COMMIT, and no reader sees uncommitted rows. A member that awaits anything else is rolled back with an error.
 *
 * A long queue is split into groups of `maxStatements`, and the event loop runs between them.
 *
 * Reads outside a transaction share one snapshot per tick, which ends with the tick or before the first write. Locking
 * the file for each read would take a tenth of a GET.
 *
 * `isTrusted` runs before each group. It throws after an I/O error, so that nothing more is written. `guard` runs a
 * check when a group must have ended.
 */
export function createGroupCommit(
  database: Database,
  translate: (error: unknown) => unknown,
  isTrusted: () => void = () => {},
  guard: (check: () => void) => void = setImmediate,
) {
  // SQLite's own wait blocks the event loop, so it is short. The pauses between tries are longer and do not block.
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
  /** Statements of the current group, and writes of all groups. */
  let statements = 0;
  let writes = 0;

  const schedule = () => {
    if (flushScheduled) return;
    flushScheduled = true;
    afterArrivals(flush, () => queue.length);
  };

  const endSnapshot = () => {
    if (!snapshotOpen) return;
    snapshotOpen = false;
    // A rollback, because nothing was written: after a read of a damaged page, COMMIT would throw and end the process.
    if (database.open && database.inTransaction) control.rollback.run();
  };

  const flush = () => {
    flushScheduled = false;
    if (!current.ended) return; // When it ends, it schedules the next group.
    endSnapshot();
    const members = queue;
    queue = [];
    const group: Group = { ended: false };
    current = group;
    guard(() => {
      if (group.ended) return;
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

  /** Runs the members in the open transaction. Returns undefined if a member must be undone and has no savepoint. */
  const runMembers = async (members: Member[], group: Group, inSavepoints: boolean) => {
    const answers: (() => void)[] = [];
    statements = 0;
    knownDataVersion = undefined;
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
        // A full disk or an I/O error rolls back the whole transaction, not only the savepoint.
        if (members.length === 1 || !database.inTransaction) throw error;
        if (inSavepoints) {
          control.rollbackToSavepoint.run();
          control.release.run();
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
      // SQLite ends the transaction on some errors, and a member may have caught such an error.
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

  /** Called before each read statement. */
  const beforeRead = (): void => {
    statements += 1;
    // A database in memory has no file to lock.
    if (database.memory || database.inTransaction) return;
    control.beginRead.run();
    snapshotOpen = true;
    knownDataVersion = undefined;
    setImmediate(endSnapshot);
  };

  return {
    add: <T>(work: () => Promise<T>): Promise<T> =>
      new Promise((resolve, reject) => {
        queue.push({ work, resolve: resolve as (value: unknown) => void, reject });
        schedule();
      }),
    beforeRead,
    /** Called before each write statement. Returns whether a write transaction is open. */
    beforeWrite(): boolean {
      statements += 1;
      writes += 1;
      return inWriteTransaction();
    },
    /** As `Engine.foreignCommitVersion`. Includes rollbacks: reads may have seen the rows that were undone. */
    foreignCommitVersion(): number {
      if (database.memory) return rollbacks;
      beforeRead();
      try {
        knownDataVersion ??= control.dataVersion.get() as number;
        // Both only grow, so no sum repeats.
        return knownDataVersion + rollbacks;
      } catch (error) {
        throw translate(error);
      }
    },
    /** Runs synchronous `work` between two groups. */
    betweenTransactions: <T>(work: () => T): Promise<T> =>
      new Promise((resolve, reject) => {
        const attempt = () => {
          endSnapshot();
          // If a member awaits something else, its transaction stays open until the guard ends it in the next tick.
          if (database.inTransaction) return void setImmediate(attempt);
          try {
            resolve(work());
          } catch (error) {
            reject(error);
          }
        };
        setImmediate(attempt);
      }),
    /** Resolves when no transaction is queued. */
    drain: (): Promise<void> =>
      queue.length === 0 && !flushScheduled && current.ended
        ? Promise.resolve()
        : new Promise((resolve) => void drained.push(resolve)),
  };
}
