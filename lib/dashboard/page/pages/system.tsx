import type { Moment } from "../../process-history.ts";
import { readMetrics, session } from "../api.ts";
import { LineChart } from "../chart.tsx";
import { lengthOf } from "../format-time.ts";
import { usePoll, useRead } from "../live.ts";
import { Empty, Loading, Page } from "../ui.tsx";

const rate = (value: number) => `${value < 10 ? value.toFixed(2) : Math.round(value)}/s`;
const seconds = (value: number) => lengthOf(value * 1000);
const megabytes = (value: number) => `${Math.round(value / 1_000_000)} MB`;
const percent = (value: number) => `${Math.round(value * 100)} %`;
const count = (value: number) => String(Math.round(value));

/** The charts: title, format of a value, and the lines by name. */
const charts: readonly (readonly [string, (value: number) => string, Readonly<Record<string, keyof Moment>>])[] = [
  ["Requests", rate, { answered: "requests_per_s", "failed (5xx)": "failures_per_s" }],
  ["Response time", seconds, { "50 % within": "p50_s", "99 % within": "p99_s" }],
  ["Jobs", count, { waiting: "jobs_waiting", running: "jobs_running" }],
  ["Job lag", seconds, { "oldest due": "lag_s" }],
  ["Processor", percent, { "of one core": "cpu" }],
  ["Memory", megabytes, { resident: "memory_bytes" }],
  ["Open streams", count, { open: "streams" }],
];

const interval_ms = 30_000;

export function SystemPage() {
  const role = session.value?.role ?? "viewer";
  const isBarred = role !== "owner" && role !== "admin";
  const { data, error } = useRead(
    "metrics",
    async (signal) => (isBarred ? [] : readMetrics(signal)),
    ({ kind }) => kind === "tick",
  );
  usePoll("tick", interval_ms);
  if (isBarred) {
    return (
      <Page title="System">
        <Empty>{`Your role ${role} cannot see this; it needs owner or admin.`}</Empty>
      </Page>
    );
  }
  return (
    <Page title="System">
      {!data && <Loading error={error} />}
      {data && (
        <>
          <div class="charts">
            {charts.map(([title, show, lines]) => (
              <LineChart
                key={title}
                title={title}
                show={show}
                seconds={data[0]?.seconds_ago}
                lines={Object.entries(lines).map(([name, field]) => ({ name, values: data.map((one) => one[field]) }))}
              />
            ))}
          </div>
          <p class="hint">
            One value for every 30 seconds of the last hour, for the whole service. They are in memory only: a restart
            begins anew. A collector can read all of them at <code>/metrics</code>.
          </p>
        </>
      )}
    </Page>
  );
}
