import { yieldToEventLoop } from "../kernel/event-loop.ts";
import type { Connection, EngineScope } from "./engine.ts";
import { isLost, mayRunAgain, translate } from "./postgres-errors.ts";

export type Work = (connection: Connection) => Promise<unknown>;
/** Answers a transaction once it is durable, or says why it is not. */
type Answer = () => void;

interface Member {
  readonly work: Work;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** The outcome of a member in a committed group. */
export type Ended = { readonly value: unknown } | { readonly error: unknown };

/** The transactions of a group share their organization's lock for a few milliseconds. */
const most = 64;

/** Runs works in one transaction. Rejects where it was rolled back, or lost. */
type Run = (scope: EngineScope, works: readonly Work[]) => Promise<readonly Ended[]>;

/**
 * Group commit. Transactions of an organization that wait for an earlier one of this process run together: one lock,
 * one commit, one message. If the group cannot be committed, each of them runs alone.
 */
export function createGroups(run: Run) {
  /** For each organization, its last group, and the members of a group that has not begun. */
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
      // It is unknown whether a lost connection has committed.
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

  /** The next group of an organization begins after its last one, and after all that arrive in this tick. */
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
      // It comes after everything that this process began before it, and before everything later, as on SQLite.
      for (const queue of queues.values()) queue.gathering = undefined;
      const ended = begin([...pending], async () => (await runAlone(scope, member))());
      ofAll = ended;
      return void ended.then(() => {
        if (ofAll === ended) ofAll = undefined;
      });
    }
    const queue = queues.get(scope.organization_id);
    if (queue?.gathering && queue.gathering.length < most) queue.gathering.push(member);
    else beginGroup(scope, member);
  };

  return {
    add: <T>(scope: EngineScope, work: (connection: Connection) => Promise<T>): Promise<T> =>
      new Promise((resolve, reject) => add(scope, { work, resolve: resolve as (value: unknown) => void, reject })),
    drain: () => Promise.all(pending),
  };
}

const answerOf = (ended: Ended, { resolve, reject }: Member): Answer =>
  "error" in ended ? () => reject(translate(ended.error)) : () => resolve(ended.value);
