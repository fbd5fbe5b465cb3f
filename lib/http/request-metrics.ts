/** Upper bounds of the duration buckets, in seconds. One more bucket counts all longer durations. */
export const bounds = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10] as const;

/** The answers of one operation. */
export interface Series {
  readonly statuses: ReadonlyMap<number, number>;
  /** The number of answers in each bucket. */
  readonly buckets: readonly number[];
  readonly seconds: number;
}

/** Long-lived streams: followed logs, and WebSockets. */
export type StreamKind = "sse" | "websocket";

export type Meter = ReturnType<typeof createMeter>;

/** Counts requests and streams since the service started, or since a snapshot was restored. */
export function createMeter() {
  const requests = new Map<string, Series>();
  let connectionsDropped = 0;
  const streams = { sse: new Set<object>(), websocket: new Set<object>() };
  return {
    requests: requests as ReadonlyMap<string, Series>,
    streams: streams as Readonly<Record<StreamKind, ReadonlySet<object>>>,
    get connectionsDropped() {
      return connectionsDropped;
    },
    connectionDropped(): void {
      connectionsDropped += 1;
    },
    /** Registers an operation, and returns the function that counts its requests. Called once for each operation. */
    count(operation: string) {
      const series = {
        statuses: new Map<number, number>(),
        buckets: new Array<number>(bounds.length + 1).fill(0),
        seconds: 0,
      };
      requests.set(operation, series);
      return (status: number, ms: number): void => {
        const seconds = ms / 1000;
        let bucket = 0;
        while (bucket < bounds.length && seconds > (bounds[bucket] ?? 0)) bucket += 1;
        series.buckets[bucket] = (series.buckets[bucket] ?? 0) + 1;
        series.statuses.set(status, (series.statuses.get(status) ?? 0) + 1);
        series.seconds += seconds;
      };
    },
    /** Called when a stream begins. Returns a function to call when it ends; a second call does nothing. */
    opened(kind: StreamKind): () => void {
      const stream = {};
      streams[kind].add(stream);
      return () => void streams[kind].delete(stream);
    },
  };
}
