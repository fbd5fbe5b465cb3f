import type { Crash } from "../../drivers/deployment/contract.ts";
import type { AppKey } from "../../features/environments/live-apps.ts";
import { isoOf } from "../../kernel/clock.ts";
import { reasonOf } from "../../kernel/log.ts";
import type { Row } from "../../store/tables.ts";
import type { AppPorts } from "./ports.ts";
import { appsRepository } from "./repository.ts";

const hour_ms = 3_600_000;
/** Of a release's crashes, the first one and every tenth of an hour are events. */
const toldEvery = 10;

type Counts = Pick<Row<"apps">, "restarts" | "restarts_since" | "hour_restarts" | "hour_since">;

/** Counts one more crash; `isTold` if it is an event. */
export function countCrash(before: Counts, now: number): Counts & { readonly isTold: boolean } {
  const isSameHour = before.hour_since !== null && now - Date.parse(before.hour_since) < hour_ms;
  const restarts = Number(before.restarts) + 1;
  const hour_restarts = isSameHour ? Number(before.hour_restarts) + 1 : 1;
  return {
    restarts,
    restarts_since: before.restarts_since ?? isoOf(now),
    hour_restarts,
    hour_since: isSameHour ? before.hour_since : isoOf(now),
    isTold: restarts === 1 || hour_restarts % toldEvery === 0,
  };
}

/**
 * Whether a crash may send a mail: one per release, at most one an hour. If a release first crashes within an hour of
 * the last mail, a later crash sends its mail, whether or not that crash is an event.
 */
export const mayMail = (
  { mailed_at, restarts_since }: Pick<Row<"apps">, "mailed_at" | "restarts_since">,
  now: number,
) => mailed_at === null || (mailed_at < (restarts_since ?? "") && now - Date.parse(mailed_at) >= hour_ms);

export function createCrashes({
  store,
  clock,
  log,
  bus,
  feed,
  mailCrash,
}: Pick<AppPorts, "store" | "clock" | "log" | "bus" | "feed" | "mailCrash">) {
  const rows = store.using(appsRepository);
  const count = ({ organization_id, project_id, environment }: AppKey, deployment_id: string, crash: Crash) =>
    store.transaction({ organization_id }, async (tx) => {
      const app = await rows(tx).find({ project_id, environment });
      // The environment was deleted, or another release is live by now.
      if (app?.deployment_id !== deployment_id) return;
      const { isTold, ...counts } = countCrash(app, clock.now());
      const isMailed = mayMail(app, clock.now());
      const mailed_at = isMailed ? clock.iso() : app.mailed_at;
      await rows(tx).setRestarts({ project_id, environment, ...counts, mailed_at });
      feed.publish(tx, { kind: "crash", organization_id, id: project_id });
      const data = { project_id, environment, ...crash, restarts: counts.restarts };
      if (isTold) await bus.announce(tx, organization_id, "app.crashed", data);
      if (isMailed) await mailCrash(tx, organization_id, data);
    });
  return (key: AppKey, deployment_id: string, crash: Crash): void => {
    if (store.retired) return;
    count(key, deployment_id, crash).catch((error) =>
      log.warn("the crash of an app could not be counted", { reason: reasonOf(error) }),
    );
  };
}
