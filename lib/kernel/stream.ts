import { invalid } from "./errors.ts";

/** An entry of a stream. A client that lost the connection resumes after the last `id` it received. */
export interface StreamEntry {
  readonly id: string;
  readonly record: object;
}

/**
 * The result of a streaming operation: entries as they come, then the closing record. A stream that was cancelled ends
 * without a closing record.
 */
export class Stream {
  readonly entries: AsyncGenerator<StreamEntry, object | undefined>;
  constructor(entries: AsyncGenerator<StreamEntry, object | undefined>) {
    this.entries = entries;
  }
}

/** How a caller follows a log: from an entry on, until the signal. */
export interface FollowOptions {
  readonly resume: string | undefined;
  readonly signal: () => AbortSignal;
}

/** The entry after which a followed log goes on. Throws `validation_failed` for anything else than the id of an entry. */
export function parseLastEventId(id: string | undefined): string | undefined {
  if (id !== undefined && !/^\d{1,9}$/.test(id))
    throw invalid("Last-Event-ID", "must be the id of an entry of this log");
  return id;
}
