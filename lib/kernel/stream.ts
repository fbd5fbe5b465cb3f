/** One of a stream: who lost the connection goes on after the last `id` they have. */
export interface StreamEntry {
  readonly id: string;
  readonly record: object;
}

/**
 * What an operation answers that goes on: entries as they come, and at the end what is told last. Where it ends without
 * that, the caller has gone or has to go.
 */
export class Stream {
  readonly entries: AsyncGenerator<StreamEntry, object | undefined>;
  constructor(entries: AsyncGenerator<StreamEntry, object | undefined>) {
    this.entries = entries;
  }
}
