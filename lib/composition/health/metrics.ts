import { lifecycle as deployment } from "../../features/deployments/states.ts";
import type { Change, ChangeFeed } from "../../features/events/change-feed.ts";
import { lifecycle as generation } from "../../features/generations/states.ts";
import { bounds, type Meter, type Series } from "../../http/request-metrics.ts";
import type { QueueLoad } from "../../jobs/runner.ts";
import type { Clock } from "../../kernel/clock.ts";
import { monotonicNow } from "../../kernel/node/system.ts";
import { version } from "../../kernel/version.ts";
import { createLoopDelay } from "./event-loop-delay.ts";
import { exposition, type Family, type Sample } from "./prometheus-text.ts";

interface Ports {
  readonly meter: Meter;
  readonly feed: ChangeFeed;
  readonly clock: Clock;
  readonly closing: AbortSignal;
  readonly mode: string;
  /** Read only at a scrape; a scrape of one organization passes its id. */
  readonly jobs: () => Promise<QueueLoad>;
  readonly deliveries: (organization_id?: string) => Promise<number>;
  readonly deployments: (organization_id?: string) => Promise<Readonly<Record<string, number>>>;
  readonly generations: (organization_id?: string) => Promise<Readonly<Record<string, number>>>;
  readonly databaseBytes: () => Promise<number>;
  readonly logBytes: () => number;
  readonly isWritable: () => boolean;
}

const by = (label: string, numbers: Readonly<Record<string, number>>): Sample[] =>
  Object.entries(numbers).map(([name, value]) => ({ labels: { [label]: name }, value }));

const familyOf =
  (type: "gauge" | "counter") =>
  (name: string, help: string, samples: readonly Sample[] | number): Family => ({
    name,
    help,
    type,
    samples: typeof samples === "number" ? [{ value: samples }] : samples,
  });
const gauge = familyOf("gauge");
const counter = familyOf("counter");

/** Returns no sample if memory cannot be read: reading /proc fails when the process is out of file descriptors. */
const ifReadable = (read: () => number): readonly Sample[] => {
  try {
    return [{ value: read() }];
  } catch {
    return [];
  }
};

/** The buckets are cumulative: each includes the smaller ones. */
function durations(operation: string, { buckets, seconds }: Series): Sample[] {
  let sum = 0;
  const upTo = [...bounds.map(String), "+Inf"].map((le, i) => {
    sum += buckets[i] ?? 0;
    return { suffix: "_bucket", labels: { operation, le }, value: sum };
  });
  const labels = { operation };
  return [...upTo, { suffix: "_sum", labels, value: seconds }, { suffix: "_count", labels, value: sum }];
}

function ofRequests({ requests, streams, connectionsDropped }: Meter): Family[] {
  const answered = [...requests].filter(([, { statuses }]) => statuses.size > 0);
  const each = ([operation, { statuses }]: (typeof answered)[number]): Sample[] =>
    [...statuses].map(([status, value]) => ({ labels: { operation, status: String(status) }, value }));
  return [
    counter("svc_http_requests_total", "Requests answered, by operation and status.", answered.flatMap(each)),
    {
      name: "svc_http_request_duration_seconds",
      type: "histogram",
      help: "The time until the answer; for a stream, until it began.",
      samples: answered.flatMap(([operation, series]) => durations(operation, series)),
    },
    gauge("svc_streams_open", "Open followed logs and WebSockets.", [
      { labels: { kind: "sse" }, value: streams.sse.size },
      { labels: { kind: "websocket" }, value: streams.websocket.size },
    ]),
    counter(
      "svc_connections_dropped_total",
      "Waiting connections closed to make room for new ones.",
      connectionsDropped,
    ),
  ];
}

function ofProcess(mode: string): Family[] {
  const { user, system } = process.cpuUsage();
  const info = { version: version(), node: process.version, mode };
  return [
    gauge("svc_info", "The version of svc-server and of Node; always 1.", [{ labels: info, value: 1 }]),
    gauge("process_resident_memory_bytes", "The resident memory of the process.", ifReadable(process.memoryUsage.rss)),
    counter("process_cpu_seconds_total", "The processor time of the process.", (user + system) / 1e6),
    // The monotonic clock starts at 0 with the process.
    gauge("process_uptime_seconds", "The time since the process started.", monotonicNow() / 1000),
  ];
}

/** Counters start at 0: a collector does not see the growth of a counter that appears later. */
const zeros = (names: readonly string[]): Record<string, number> => Object.fromEntries(names.map((name) => [name, 0]));

/** Counters since the start of the process: of the whole service, or of one organization. */
const createCounts = () => ({
  tries: zeros(["succeeded", "failed"]),
  deliveries: zeros(["succeeded", "abandoned"]),
  deployments: zeros(deployment.states),
  generations: zeros(generation.states),
  crashes: 0,
});
type Counts = ReturnType<typeof createCounts>;

function countIn(counts: Counts, change: Change): void {
  const add = (numbers: Record<string, number>, name: string) => {
    numbers[name] = (numbers[name] ?? 0) + 1;
  };
  if (change.kind === "try") add(counts.tries, Math.floor((change.status ?? 0) / 100) === 2 ? "succeeded" : "failed");
  else if (change.kind === "crash") counts.crashes += 1;
  else if (change.kind === "delivery") add(counts.deliveries, change.status);
  else if (change.kind === "deployment") add(counts.deployments, change.status);
  else if (change.kind === "generation" && !change.isProgress) add(counts.generations, change.status);
}

/** Metrics about the work of the service, or of one organization. Counts waiting work through an index. */
async function ofWork(counts: Counts, read: Ports, organization_id?: string): Promise<Family[]> {
  const [deliveries, deployments, generations] = await Promise.all([
    read.deliveries(organization_id),
    read.deployments(organization_id),
    read.generations(organization_id),
  ]);
  return [
    counter("svc_app_crashes_total", "Processes of apps that ended by themselves.", counts.crashes),
    gauge("svc_deliveries_pending", "Deliveries that have not ended.", deliveries),
    counter("svc_deliveries_total", "Deliveries ended by an attempt, by outcome.", by("outcome", counts.deliveries)),
    counter("svc_delivery_tries_total", "Ended attempts of deliveries, by outcome.", by("outcome", counts.tries)),
    gauge("svc_deployments", "Deployments that have not ended, by state.", by("state", deployments)),
    counter("svc_deployments_total", "Deployments that entered a state.", by("state", counts.deployments)),
    gauge("svc_generations", "Generations that have not ended, by state.", by("state", generations)),
    counter("svc_generations_total", "Generations that entered a state.", by("state", counts.generations)),
  ];
}

/**
 * The metrics in the Prometheus text format: of the whole service, or of one organization, which then sees no number
 * about others. Counters start with the process, or with the last restored snapshot.
 */
export function createMetrics(ports: Ports): (organization_id?: string) => Promise<string> {
  const { meter, feed, clock, closing, mode, ...read } = ports;
  const all = createCounts();
  const each = new Map<string, Counts>();
  const countsOf = (organization_id: string) => {
    const counts = each.get(organization_id) ?? createCounts();
    each.set(organization_id, counts);
    return counts;
  };
  const loopDelay = createLoopDelay(closing);
  feed.listenHere((change) => {
    countIn(all, change);
    countIn(countsOf(change.organization_id), change);
  });

  return async (organization_id) => {
    if (organization_id !== undefined)
      return exposition(await ofWork(countsOf(organization_id), ports, organization_id));
    const [{ waiting, running, due_at }, work, bytes] = await Promise.all([
      read.jobs(),
      ofWork(all, ports),
      read.databaseBytes(),
    ]);
    const lag_ms = due_at === undefined ? 0 : Math.max(0, clock.now() - due_at);
    const delays = loopDelay([0.5, 0.99]).map(([quantile, value]) => ({
      labels: { quantile: String(quantile) },
      value,
    }));
    return exposition([
      ...ofRequests(meter),
      gauge("svc_jobs", "Waiting and running jobs.", by("state", { waiting, running })),
      gauge("svc_jobs_lag_seconds", "How long the oldest due job has been due.", lag_ms / 1000),
      ...work,
      gauge("svc_store_writable", "Whether the store takes writes: 1 or 0.", read.isWritable() ? 1 : 0),
      gauge("svc_database_bytes", "The size of the database, without its write-ahead log.", bytes),
      gauge("svc_database_log_bytes", "The size of the write-ahead log of the database.", read.logBytes()),
      gauge("svc_event_loop_delay_seconds", "The delay of the event loop since the last scrape.", delays),
      ...ofProcess(mode),
    ]);
  };
}
