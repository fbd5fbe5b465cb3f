/** Values of spans. They never hold a secret: no headers, bodies, queries, or paths of receivers. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface SpanOptions {
  readonly kind: "server" | "client" | "producer" | "consumer" | "internal";
  readonly attributes: Attributes;
  /**
   * The span that caused this one, as a `traceparent`. `wins`: over the span that is current, which may be that of a caller
   * that happened to wake this work. Without a cause, the current span is the parent.
   */
  readonly cause?: { readonly traceparent: string | undefined; readonly wins: boolean };
}

/** A span that has not ended. */
export interface Span {
  /** The header that passes it on. */
  readonly traceparent: string;
  set(attributes: Attributes): void;
  /** Marks it as failed, in a few constant words. */
  fail(type: string): void;
  /** Runs work with this span as the current one. */
  within<T>(work: () => T): T;
}

/** Spans of what the service does. Where there is no tracer, nothing is wrapped, and so nothing costs. */
export interface Tracer {
  /** Runs work within a new span, which ends with it, and fails where it throws. */
  span<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T>;
  /** A span that began so many milliseconds ago and ends now, below the current one. */
  past(name: string, attributes: Attributes, lasted_ms: number, failure?: string): void;
  readonly current: Span | undefined;
  /** Runs work outside of every span. */
  outside<T>(work: () => T): T;
  /** Remembers the current span as the cause of a record, for a while in this process. */
  remember(id: string): void;
  /** The `traceparent` that was remembered; undefined where it is forgotten, or of another process. */
  causeOf(id: string): string | undefined;
}
