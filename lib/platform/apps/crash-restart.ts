import * as v from "valibot";
import type { AppKey } from "../../features/environments/live-apps.ts";
import { deadline } from "../../kernel/deadline.ts";
import { within } from "../../kernel/node/promises.ts";
import { milliseconds } from "../../kernel/text/duration.ts";
import { settingsRepository } from "../../store/service-state.ts";
import { createOneAtATime } from "../runtime/one-at-a-time.ts";
import { pause } from "../runtime/pause.ts";
import type { AppPorts } from "./ports.ts";
import type { Live, Supervisor } from "./supervisor.ts";

export type Returning = readonly [AppKey, Live];

const record = v.object({ crashes: v.number(), last: v.nullable(v.string()) });
type Record = v.InferOutput<typeof record>;
const stored = v.pipe(v.string(), v.parseJson(), v.nullable(record));

const firstWait_ms = 1_000;
const maxWait_ms = 60_000;
/** The longest time that a hanging start delays the others. */
const maxTurn_ms = 10_000;
/** After this uptime, the apps are considered harmless, and the crash count restarts at 0. */
const calm_ms = milliseconds("10m");

const waitAfter = (crashes: number) => (crashes < 2 ? 0 : Math.min(firstWait_ms * 2 ** (crashes - 2), maxWait_ms));

export type CrashRestart = ReturnType<typeof createCrashRestart>;

/**
 * Restarts live releases when the server starts. After a crash, one of them may crash the server again. So they start
 * one after the other, and the release that started last before the crash starts last again.
 */
export function createCrashRestart({ store, log, runtimeId = "own" }: Pick<AppPorts, "store" | "log" | "runtimeId">) {
  const settings = store.using(settingsRepository);
  const name = `apps_of_${runtimeId}`;
  let crashesInARow = 0;
  let last: string | null = null;
  /** The deployment that started last before a crash. */
  let crashCandidate: string | null = null;
  let cancelCalm = () => {};
  const oneAtATime = createOneAtATime();

  const write = (value: Record | null) => {
    const json = JSON.stringify(value);
    const next = () => store.transaction("rows", (tx) => settings(tx).write({ name, value: json }));
    // Apps start even if the store cannot be written.
    return oneAtATime(name, next).catch(() => {});
  };

  const writeState = () => write({ crashes: crashesInARow, last });

  return {
    /** Reads how the previous server process ended. */
    async begin(): Promise<void> {
      const { value = "null" } = (await settings().read({ name })) ?? {};
      const parsed = v.safeParse(stored, value);
      const before = parsed.success ? parsed.output : null;
      if (before) crashesInARow = before.crashes + 1;
      crashCandidate = before?.last ?? null;
      last = crashCandidate;
    },

    /** Call before a release starts. Resolves once the start is recorded, so that a crash can be attributed to it. */
    async starting(deployment_id: string): Promise<void> {
      if (deployment_id === last) return;
      last = deployment_id;
      await writeState();
    },

    startAll(live: readonly Returning[], supervisor: Supervisor): void {
      void writeState();
      cancelCalm = deadline(calm_ms, () => {
        crashesInARow = 0;
        void writeState();
      });
      if (crashesInARow === 0) {
        for (const [key, one] of live) void supervisor.resume(key, one);
        return;
      }
      const isCandidate = ([, { deployment_id }]: Returning) => deployment_id === crashCandidate;
      const wait_ms = waitAfter(crashesInARow);
      if (live.length > 0)
        log.warn("the server crashed before this start: its apps start one after the other", {
          crashes: crashesInARow,
          wait_ms,
          ...(crashCandidate !== null && { last: crashCandidate }),
        });
      let before = Promise.resolve();
      for (const [key, one] of [...live.filter((each) => !isCandidate(each)), ...live.filter(isCandidate)]) {
        const turn = before.then(() => pause(wait_ms));
        const tried = supervisor.resume(key, one, turn);
        before = turn.then(() => within(maxTurn_ms, tried, undefined));
      }
    },

    /** Records an orderly shutdown. */
    end(): Promise<unknown> {
      cancelCalm();
      return write(null);
    },
  };
}
