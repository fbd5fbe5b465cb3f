import { type AppKey, keyOf, nameOf } from "../../features/environments/live-apps.ts";
import { systemTimer } from "../../kernel/clock.ts";
import { reasonOf } from "../../kernel/log.ts";
import { byteSizeText } from "../../kernel/text/byte-size.ts";
import type { Row } from "../../store/tables.ts";
import { createOneAtATime } from "../runtime/one-at-a-time.ts";
import { repeat } from "../runtime/pause.ts";
import type { AppLogs } from "./logs.ts";
import type { Placement } from "./placement.ts";
import type { AppPorts } from "./ports.ts";
import { appsRepository } from "./repository.ts";

const pause_ms = 60_000;
/** The switch to a new release must not wait for the start of `du`. */
const afterSwitch = "1s";
/** The queue for measurements: the releases of many environments may go live at once. */
const inTurn = "releases";
/** Sizes are read once a minute. One warning an hour is enough. */
const looksBetweenWarnings = 60;

type Ports = Pick<AppPorts, "store" | "log" | "runtime" | "dataLimit"> & {
  readonly logs: Pick<AppLogs, "append">;
  readonly placement: Pick<Placement, "isHere">;
};

/** Measures each minute, and after each deployment, how much data environments store in `/data`. */
export function createDataSizes({ store, log, logs, runtime, dataLimit, placement }: Ports) {
  const rows = store.using(appsRepository);
  const looks = new Map<string, number>();
  let hasEnded = false;
  let cancel = () => {};
  const oneAtATime = createOneAtATime();

  const look = async (app: Row<"apps">): Promise<void> => {
    const key = keyOf(app);
    const bytes = await runtime?.dataBytes?.(key);
    if (bytes === undefined) return;
    if (bytes !== Number(app.data_bytes ?? -1))
      await store.transaction(key, async (tx) => void (await rows(tx).setDataBytes({ ...key, data_bytes: bytes })));
    const name = nameOf(app);
    if (bytes <= dataLimit) return void looks.delete(name);
    const count = looks.get(name) ?? 0;
    looks.set(name, count + 1);
    if (count % looksBetweenWarnings !== 0) return;
    const limit = `deployments.dataLimit (${byteSizeText(dataLimit)})`;
    const message = `/data is full: it holds ${byteSizeText(bytes)}, more than ${limit}; remove files, or raise the limit`;
    logs.append(key, [{ level: "error", message }]);
  };

  const lookAll = async (): Promise<void> => {
    for (const app of (await rows().live({})).filter(placement.isHere)) {
      if (hasEnded || store.retired) return;
      await look(app);
    }
  };

  const unread = (error: unknown) =>
    !hasEnded && log.warn("the size of data could not be read", { reason: reasonOf(error) });

  const lookAt = async (key: AppKey): Promise<void> => {
    const app = hasEnded || store.retired ? undefined : await rows().find(key);
    if (app && placement.isHere(app)) await look(app);
  };

  return {
    begin(): void {
      if (!runtime?.dataBytes || hasEnded) return;
      const tryAll = () => lookAll().catch(unread);
      // The first look may take longer than the pause.
      void tryAll().then(() => {
        if (!hasEnded) cancel = repeat(pause_ms, tryAll);
      });
    },
    /** Call when a release goes live: it may store a lot at its start. */
    goesLive(key: AppKey): void {
      if (!runtime?.dataBytes || hasEnded) return;
      systemTimer(afterSwitch, () => void oneAtATime(inTurn, () => lookAt(key)).catch(unread));
    },
    end(): void {
      hasEnded = true;
      cancel();
    },
  };
}
