import * as v from "valibot";
import type { AppKey } from "../../features/environments/live-apps.ts";
import { systemTimer } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import { monotonicNow } from "../../kernel/node/system.ts";
import { milliseconds } from "../../kernel/text/duration.ts";
import { settingsRepository } from "../../store/service-state.ts";
import type { Store } from "../../store/store.ts";
import type { Live, Supervisor } from "./supervisor.ts";

interface Ports {
  readonly store: Store;
  readonly log: Log;
  /** The name by which the other servers know the runtime. */
  readonly runtimeId: string | undefined;
}

/** An environment with its live release. */
export type Returning = readonly [AppKey, Live];

const record = v.object({ crashes: v.number(), last: v.nullable(v.string()) });
type Record = v.InferOutput<typeof record>;
const stored = v.pipe(v.string(), v.parseJson(), v.nullable(record));

const firstWait_ms = 1_000;
const longestWait_ms = 60_000;
/** The longest time that a hanging start delays the others. */
const longestTurn = "10s";
/** After this uptime, the apps are considered harmless, and the crash count restarts at 0. */
const calm_ms = milliseconds("10m");

/** The wait before each app starts, by the number of crashes in a row. */
const waitAfter = (crashes: number) => (crashes < 2 ? 0 : Math.min(firstWait_ms * 2 ** (crashes - 2), longestWait_ms));

export type Comeback = ReturnType<typeof createComeback>;

/**
 * Restarts live releases when the server starts. If the server crashed, one of its apps may be the cause, and could
 * crash it again before the others are up. So after a crash the apps start one after another, the one that started last
 * at the end.
 */
export function createComeback({ store, log, runtimeId = "own" }: Ports) {
  const settings = store.using(settingsRepository);
  const name = `apps_of_${runtimeId}`;
  let crashes = 0;
  let suspect: string | null = null;
  let last: string | null = null;
  let written: Promise<unknown> = Promise.resolve();

  const write = (value: Record | null) => {
    const next = () => store.transaction("rows", (tx) => settings(tx).write({ name, value: JSON.stringify(value) }));
    // Apps start even if the store cannot be written.
    written = written.then(next).catch(() => {});
    return written;
  };

  let cancelCalm = () => {};
  /** A timer lasts a minute at most, so it is set again until `at`. */
  const calmAt = (at: number): void => {
    cancelCalm = systemTimer(Math.max(0, at - monotonicNow()), () => {
      if (monotonicNow() < at) return calmAt(at);
      crashes = 0;
      void write({ crashes, last });
    });
  };

  const wait = (ms: number) => new Promise<void>((resolve) => systemTimer(ms, resolve));

  return {
    /** Reads how the previous server process ended. */
    async begin(): Promise<void> {
      const { value = "null" } = (await settings().read({ name })) ?? {};
      const found = v.safeParse(stored, value);
      const before = found.success ? found.output : null;
      if (before) ({ last: suspect, crashes } = { ...before, crashes: before.crashes + 1 });
      last = suspect;
    },

    /** Call before a release starts. Resolves once the start is recorded, so that a crash can be attributed to it. */
    async starting(deployment_id: string): Promise<void> {
      if (deployment_id === last) return;
      last = deployment_id;
      await write({ crashes, last });
    },

    /** Restarts the live releases; after a crash, one after the other. */
    bring(live: readonly Returning[], supervisor: Supervisor): void {
      void write({ crashes, last });
      calmAt(monotonicNow() + calm_ms);
      if (crashes === 0) {
        for (const [key, one] of live) void supervisor.resume(key, one);
        return;
      }
      const isSuspect = ([, { deployment_id }]: Returning) => deployment_id === suspect;
      const wait_ms = waitAfter(crashes);
      if (live.length > 0)
        log.warn("the server crashed before this start: its apps start one after the other", {
          crashes,
          wait_ms,
          ...(suspect !== null && { last: suspect }),
        });
      let before = Promise.resolve();
      for (const [key, one] of [...live.filter((each) => !isSuspect(each)), ...live.filter(isSuspect)]) {
        const turn = before.then(() => wait(wait_ms));
        const tried = supervisor.resume(key, one, turn);
        before = turn.then(() =>
          Promise.race([tried, new Promise<void>((resolve) => systemTimer(longestTurn, resolve))]),
        );
      }
    },

    /** Records an orderly shutdown. */
    end(): Promise<unknown> {
      cancelCalm();
      return write(null);
    },
  };
}
