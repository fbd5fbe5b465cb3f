import { invalid } from "../errors.ts";

/** An entry of a stream. After a lost connection, a client resumes after the last `id` it received. */
export interface StreamEntry {
  readonly id: string;
  readonly record: object;
}

/** Entries as they arrive, then the closing record, unless the stream was cancelled. */
export class Stream {
  readonly entries: AsyncGenerator<StreamEntry, object | undefined>;
  constructor(entries: AsyncGenerator<StreamEntry, object | undefined>) {
    this.entries = entries;
  }
}

/** How a caller follows a log: the starting entry, and the signal that ends it. */
export interface FollowOptions {
  readonly resume: string | undefined;
  readonly signal: () => AbortSignal;
}

/** Where a followed log of `count` entries resumes. If it has no entry `after`, `told` is an entry that says so. */
export function resumeLog(after: string | undefined, count: number, timestamp: string) {
  if (after === undefined || Number(after) < count) return { last: after };
  const last = count > 0 ? String(count - 1) : undefined;
  const message = `This log has no entry ${after}: the service was reset or restored. New entries follow`;
  return { last, told: { id: last ?? "", record: { timestamp, level: "warn", message } } };
}

/** The entry after which a followed log resumes. Throws `validation_failed` for anything but an entry's id. */
export function parseLastEventId(id: string | undefined): string | undefined {
  if (id !== undefined && !/^\d{1,9}$/.test(id))
    throw invalid("Last-Event-ID", "must be the id of an entry of this log");
  return id;
}
