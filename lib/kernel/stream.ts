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
