import nodeTimers from "node:timers";
import nodePromises from "node:timers/promises";
import { promisify } from "node:util";
import type { TimerList } from "./timer-list.ts";

type AnyFunction = (...given: unknown[]) => unknown;
type Functions = Record<string, AnyFunction | undefined>;
/** Wraps a fake function. */
type Watch = (fake: AnyFunction) => AnyFunction;

const mark = Symbol.for("svc-server.timers");
const names = ["setTimeout", "setInterval", "setImmediate"] as const;
type Name = (typeof names)[number];
const here = globalThis as unknown as Functions;
const inNode = nodeTimers as unknown as Functions;
const promises = nodePromises as unknown as Functions;
/** The functions at import, which fake timers replace later. */
const machine = { timers: { ...inNode }, promises: { ...promises }, date: globalThis.Date };

/** Whether `setTimeout` and `Date` are fake, and whether `setTimeout` is watched already. */
export const timersInForce = () => ({
  areFake: here["setTimeout"] !== machine.timers["setTimeout"],
  areWatched: mark in (here["setTimeout"] ?? {}),
  isDateFake: globalThis.Date !== machine.date,
});

/** Whether `move(0)` makes the runner run a fake timer that is due. */
export async function runsTimers(move: (ms: number) => unknown): Promise<boolean> {
  let hasRun = false;
  const probe = here["setTimeout"]?.(() => {
    hasRun = true;
  }, 0);
  await move(0);
  here["clearTimeout"]?.(probe);
  return hasRun;
}

const max_ms = 2 ** 31 - 1;
/** As in Node: anything but a number, or a wait that is too long, becomes the shortest wait. */
const waitOf = (given: unknown): number => {
  const ms = Number(given);
  return ms > max_ms ? 1 : Math.max(0, Math.ceil(ms)) || 0;
};

/** Adds a timer, with the stack of the call of `setter`. */
function note(list: TimerList, key: unknown, timer: { name: Name; wait: unknown; run?: unknown; setter: AnyFunction }) {
  const { name, wait, run, setter } = timer;
  const ms = name === "setImmediate" ? 0 : waitOf(wait);
  const callee = typeof run === "function" && run.name ? [run.name] : [];
  const words = `${name}(${[...callee, ...(name === "setImmediate" ? [] : [ms])].join(", ")})`;
  const again_ms = name === "setInterval" && run !== undefined ? Math.max(1, ms) : undefined;
  const trace = {};
  Error.captureStackTrace(trace, setter);
  list.add(key, { wait_ms: ms, words, trace, again_ms });
}

const setter =
  (list: TimerList, name: Name): Watch =>
  (fake) => {
    const set: AnyFunction = (run, ...rest) => {
      const whenDue = (...given: unknown[]) => list.due(key, () => (run as AnyFunction)(...given));
      const key = fake(typeof run === "function" ? whenDue : run, ...rest);
      note(list, key, { name, wait: rest[0], run, setter: set });
      return key;
    };
    const promised = (...given: unknown[]) => {
      const [value, ...wait] = name === "setImmediate" ? given : [given[1], given[0]];
      return new Promise((resolve) => void set(() => resolve(value), ...wait));
    };
    // The runner's own promisified function would set a timer that is not watched.
    return name === "setInterval" ? set : Object.assign(set, { [promisify.custom]: promised });
  };

const clearer =
  (list: TimerList): Watch =>
  (fake) =>
  (key) => {
    list.remove(key);
    return fake(key);
  };

/** The end of a timer of `node:timers/promises`. */
const endOf = <T>(list: TimerList, key: unknown, end: Promise<T>): Promise<T> =>
  end.then(
    (value) => new Promise<T>((resolve) => void list.due(key, () => resolve(value))),
    (error) => {
      list.remove(key);
      throw error;
    },
  );

const sleeper =
  (list: TimerList, name: Name): Watch =>
  (fake) => {
    const sleep: AnyFunction = (...given) => {
      const key = {};
      note(list, key, { name, wait: given[0], setter: sleep });
      return endOf(list, key, fake(...given) as Promise<unknown>);
    };
    return sleep;
  };

/** Each turn of `for await (const _ of setInterval(1_000))` waits for one interval. */
const iterator =
  (list: TimerList): Watch =>
  (fake) => {
    const iterate: AnyFunction = async function* (...given) {
      const turns = fake(...given) as AsyncGenerator<unknown>;
      const next = () => {
        const key = {};
        note(list, key, { name: "setInterval", wait: given[0], setter: iterate });
        return endOf(list, key, turns.next());
      };
      try {
        for (let turn = await next(); turn.done !== true; turn = await next()) yield turn.value;
      } finally {
        await turns.return(undefined);
      }
    };
    return iterate;
  };

/** Adds the timers that code sets with fake functions to `list`. Returns a function that unwraps them. */
export function watchTimers(list: TimerList): () => void {
  const undo: (() => void)[] = [];
  const replace = (holder: Functions, name: string, watch: Watch) => {
    const fake = holder[name];
    if (fake === undefined) return;
    const watched = watch(fake);
    // Runners recognize their fake functions by properties.
    const own = Object.getOwnPropertyDescriptors(watched);
    Object.defineProperties(watched, { ...Object.getOwnPropertyDescriptors(fake), ...own, [mark]: { value: true } });
    holder[name] = watched;
    undo.push(() => {
      if (holder[name] === watched) holder[name] = fake;
    });
  };
  for (const name of names) {
    for (const holder of [here, inNode]) {
      if (holder[name] === machine.timers[name]) continue;
      replace(holder, name, setter(list, name));
      replace(holder, name.replace("set", "clear"), clearer(list));
    }
    const watch = name === "setInterval" ? iterator(list) : sleeper(list, name);
    if (promises[name] !== machine.promises[name]) replace(promises, name, watch);
  }
  return () => {
    for (const run of undo) run();
    list.clear();
  };
}
