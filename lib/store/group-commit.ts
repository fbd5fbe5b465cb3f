import type { Database, Statement } from "better-sqlite3";

interface Member {
  readonly work: () => Promise<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

const words = [
  "BEGIN IMMEDIATE",
  "COMMIT",
  "ROLLBACK",
  "SAVEPOINT member",
  "RELEASE member",
  "ROLLBACK TO member",
  "BEGIN",
  "PRAGMA data_version",
] as const;
type Statements = [Statement, Statement, Statement, Statement, Statement, Statement, Statement, Statement];

/**
 * A group that has run so many statements begins nothing more: some milliseconds of work. They are counted and not timed,
 * or the same calls would be grouped, and answered, otherwise on another machine.
 */
const most = 500;

export interface GroupCommit {
  add<T>(work: () => Promise<T>): Promise<T>;
  /** Told before each statement that reads. */
  beforeRead(): void;
  /** What changes with every commit of another connection, as the present transaction or snapshot sees it. */
  dataVersion(): number;
  /** Told before each statement that writes: whether a transaction is open that may. */
  beforeWrite(): boolean;
  /** Runs `work`, which awaits nothing, between two transactions. */
  betweenTransactions<T>(work: () => T): Promise<T>;
  /** Resolves when nothing waits any more. */
  drain(): Promise<void>;
}

/**
 * Group commit. All that wait when a turn of the event loop ends run one after the other in one `BEGIN IMMEDIATE`, each
 * in a savepoint of its own where there are several, and are answered after the one COMMIT and its sync: many requests
 * share a sync, nobody is answered before it, and a failed member takes only itself back.
 *
 * Members await the store alone, which answers within the same turn; so nothing else runs between BEGIN and COMMIT, and
 * no reader ever sees what is not yet committed. A member that waits for anything else is undone, with an error.
 *
 * However much is waiting, a group ends after so much work, and others have their turn.
 *
 * The reads of a turn share a snapshot, which ends with the turn and before anything is written: to lock the file for each
 * of them would take as long as a short read.
 */
export function createGroupCommit(database: Database, translate: (error: unknown) => unknown): GroupCommit {
  let waiting: Member[] = [];
  let scheduled = false;
  let idle: (() => void)[] = [];
  let sharing = false;
  const [begin, commit, rollback, save, release, undo, share, version] = words.map((word) =>
    database.prepare(word),
  ) as Statements;
  version.pluck();
  let others: number | undefined;
  /** Since the last group began. */
  let statements = 0;

  const schedule = () => {
    if (scheduled) return;
    scheduled = true;
    setImmediate(flush);
  };

  const unshare = () => {
    if (!sharing) return;
    sharing = false;
    if (database.open && database.inTransaction) commit.run();
  };

  const flush = () => {
    scheduled = false;
    unshare();
    const batch = waiting;
    waiting = [];
    const turn = { over: false };
    setImmediate(() => {
      if (turn.over) return;
      turn.over = true;
      finish(batch, new Error("a transaction awaited something other than the store; it was undone"));
    });
    // run() handles every failure itself: it hands it to the members.
    void run(batch, turn);
    if (waiting.length > 0) schedule();
  };

  const finish = (batch: readonly Member[], error: unknown) => {
    if (database.open && database.inTransaction) rollback.run();
    for (const member of batch) member.reject(translate(error));
    rest();
  };

  const rest = () => {
    if (waiting.length > 0 || scheduled) return;
    for (const wake of idle) wake();
    idle = [];
  };

  const run = async (batch: Member[], turn: { over: boolean }) => {
    const answers: (() => void)[] = [];
    try {
      begin.run();
      statements = 0;
      others = undefined;
      // Who is alone has nobody to be kept apart from: what undoes one then undoes all.
      const alone = batch.length === 1;
      for (const [i, member] of batch.entries()) {
        if (statements >= most) {
          waiting = batch.splice(i).concat(waiting);
          schedule();
          break;
        }
        if (!alone) save.run();
        try {
          const value = await member.work();
          if (turn.over) return;
          if (!alone) release.run();
          answers.push(() => member.resolve(value));
        } catch (error) {
          if (turn.over) return;
          // A full disk or an I/O error ends the whole transaction, not only the savepoint.
          if (alone || !database.inTransaction) throw error;
          undo.run();
          release.run();
          answers.push(() => member.reject(translate(error)));
        }
      }
      // One that SQLite has ended, and whose member went on all the same.
      if (!writes()) throw new Error("the transaction had ended before its commit");
      commit.run();
      turn.over = true;
    } catch (error) {
      if (turn.over) return;
      turn.over = true;
      finish(batch, error);
      return;
    }
    for (const answer of answers) answer();
    rest();
  };

  const writes = () => database.inTransaction && !sharing;

  const beforeRead = () => {
    statements += 1;
    // What is in memory needs no lock.
    if (database.memory || database.inTransaction) return;
    share.run();
    sharing = true;
    others = undefined;
    setImmediate(unshare);
  };

  return {
    add: <T>(work: () => Promise<T>) =>
      new Promise<T>((resolve, reject) => {
        waiting.push({
          work,
          resolve: resolve as (value: unknown) => void,
          reject,
        });
        schedule();
      }),
    beforeRead,
    dataVersion() {
      if (database.memory) return 0;
      beforeRead();
      try {
        others ??= version.get() as number;
        return others;
      } catch (error) {
        throw translate(error);
      }
    },
    beforeWrite() {
      statements += 1;
      return writes();
    },
    betweenTransactions: (work) =>
      new Promise((resolve, reject) => {
        const attempt = () => {
          unshare();
          // A member that waits for anything else holds its transaction for one more turn.
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
      waiting.length === 0 && !scheduled
        ? Promise.resolve()
        : new Promise((resolve) => {
            idle.push(resolve);
          }),
  };
}
