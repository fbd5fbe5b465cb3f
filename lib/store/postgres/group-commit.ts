import { yieldToEventLoop } from "../../kernel/node/event-loop.ts";
import type { Connection, EngineScope, SendReads } from "../engine.ts";
import { isLost, mayRunAgain, translate } from "./errors.ts";

/** The work of a transaction, and the reads that are sent with its locks. */
export interface Work {
  readonly run: (connection: Connection) => Promise<unknown>;
  readonly prefetch: SendReads | undefined;
}
/** Resolves or rejects the promise of a finished transaction. */
type Answer = () => void;

interface Member {
  readonly work: Work;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** The outcome of one member of a committed group. */
export type Ended = { readonly value: unknown } | { readonly error: unknown };

/** The most transactions in a group. A group holds its organization's lock for a few milliseconds. */
const maxMembers = 64;

/** Runs all works in one transaction. Rejects if it was rolled back or its connection was lost. */
type Run = (scope: EngineScope, works: readonly Work[]) => Promise<readonly Ended[]>;

/**
 * Group commit. While one transaction of an organization runs, this process collects the next ones and then runs them
 * together: one lock, one commit, one set of messages. If the group is rolled back, each of them runs again alone.
 */
export function createGroups(run: Run) {
  /** By organization: the end of its last group, and the members of a group that has not begun. */
  const queues = new Map<string, { readonly ended: Promise<void>; gathering: Member[] | undefined }>();
  const pending = new Set<Promise<unknown>>();
  let ofAll: Promise<void> | undefined;

  const runAlone = async (scope: EngineScope, { work, resolve, reject }: Member): Promise<Answer> => {
    for (let runs = 1; ; runs++) {
      try {
        return answerOf((await run(scope, [work]))[0] as Ended, { work, resolve, reject });
      } catch (error) {
        if (!mayRunAgain(error, runs)) return () => reject(translate(error));
      }
    }
  };

  const runTogether = async (scope: EngineScope, members: readonly Member[]): Promise<void> => {
    const [only] = members;
    if (only && members.length === 1) return (await runAlone(scope, only))();
    try {
      const ended = await run(
        scope,
        members.map(({ work }) => work),
      );
      for (const [i, member] of members.entries()) answerOf(ended[i] as Ended, member)();
    } catch (error) {
      // After a lost connection, the commit may or may not have happened: do not run again.
      if (isLost(error)) for (const { reject } of members) reject(translate(error));
      else for (const member of members) (await runAlone(scope, member))();
    }
  };

  const begin = (before: readonly (Promise<unknown> | undefined)[], work: () => Promise<void>): Promise<void> => {
    const ended = Promise.all(before).then(work);
    pending.add(ended);
    void ended.then(() => pending.delete(ended));
    return ended;
  };

  /** A group starts after the previous group of its organization. Transactions join it until then. */
  const beginGroup = (scope: EngineScope & object, first: Member) => {
    const { organization_id } = scope;
    const gathering = [first];
    const ended = begin([queues.get(organization_id)?.ended, ofAll], async () => {
      await yieldToEventLoop();
      queue.gathering = undefined;
      await runTogether(scope, gathering);
    });
    const queue = { ended, gathering: gathering as Member[] | undefined };
    queues.set(organization_id, queue);
    void ended.then(() => queues.get(organization_id) === queue && queues.delete(organization_id));
  };

  const add = (scope: EngineScope, member: Member) => {
    if (scope === "rows") return void begin([], async () => (await runAlone(scope, member))());
    if (scope === "all") {
      // As on SQLite, it waits for all earlier transactions of this process. Later ones wait for it, except `rows`.
      for (const queue of queues.values()) queue.gathering = undefined;
      const ended = begin([...pending], async () => (await runAlone(scope, member))());
      ofAll = ended;
      return void ended.then(() => {
        if (ofAll === ended) ofAll = undefined;
      });
    }
    const queue = queues.get(scope.organization_id);
    if (queue?.gathering && queue.gathering.length < maxMembers) queue.gathering.push(member);
    else beginGroup(scope, member);
  };

  return {
    add: <T>(scope: EngineScope, run: (connection: Connection) => Promise<T>, prefetch?: SendReads): Promise<T> =>
      new Promise((resolve, reject) =>
        add(scope, { work: { run, prefetch }, resolve: resolve as (value: unknown) => void, reject }),
      ),
    isBusy: () => pending.size > 0,
    drain: () => Promise.all(pending),
  };
}

const answerOf = (ended: Ended, { resolve, reject }: Member): Answer =>
  "error" in ended ? () => reject(translate(ended.error)) : () => resolve(ended.value);
