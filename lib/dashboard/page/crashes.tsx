import type { Environment } from "../../client/generated/records.ts";
import { api } from "./api.ts";
import { countOf } from "./format-time.ts";
import { serviceNow, useRead } from "./live.ts";
import { Text, Time } from "./ui.tsx";

/** So many crashes within this time are a loop. */
const mostCrashes = 3;
const loop_ms = 10 * 60_000;

/** How often the live release was started again; nothing if it never was. */
export const Restarts = ({ of: { restarts } }: { of: Environment }) =>
  restarts && restarts.count > 0 ? (
    <span class="bad">
      {countOf(restarts.count, "restart")} since <Time at={restarts.since} />
    </span>
  ) : null;

/** The last crash of the live release, and whether they come one after the other. */
export function Crashes({ project_id, of }: { project_id: string; of: Environment }) {
  const count = of.restarts?.count ?? 0;
  const { data } = useRead(
    `crashes ${project_id} ${of.name} ${count}`,
    async (signal) =>
      count === 0 ? [] : (await api.events.list({ event: "app.crashed", per_page: 50 }, { signal })).data,
    ({ event }) => event === "app.crashed",
  );
  const its = data?.filter(({ data }) => data["project_id"] === project_id && data["environment"] === of.name) ?? [];
  const [last] = its;
  if (!last) return null;
  const recent = its.filter(({ timestamp }) => serviceNow() - Date.parse(timestamp) < loop_ms);
  const { process, exit_code } = last.data;
  return (
    <div class="reason">
      <p>
        <strong>{recent.length >= mostCrashes ? "It crashes again and again:" : "It crashed:"}</strong>{" "}
        <Text of={String(process)} /> ended{" "}
        {exit_code === null ? "by a signal or a limit" : `with exit code ${exit_code}`} <Time at={last.timestamp} />.
      </p>
      <p class="hint">
        {countOf(recent.length, "crash", "crashes")} in the last ten minutes. The log below says more. Roll back, or
        deploy a fix.
      </p>
    </div>
  );
}
