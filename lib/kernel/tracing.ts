/** Attributes of spans. They never hold secrets: no headers, bodies, queries, or paths of receivers. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface SpanOptions {
  readonly kind: "server" | "client" | "producer" | "consumer" | "internal";
  readonly attributes: Attributes;
  /** The parent, as a `traceparent`. `wins`: it takes precedence over the current span, which may be unrelated. */
  readonly cause?: { readonly traceparent: string | undefined; readonly wins: boolean };
}

/** A running span. */
export interface Span {
  /** The header that passes the span on. */
  readonly traceparent: string;
  set(attributes: Attributes): void;
  /** Marks the span as failed. The message is a short constant. */
  fail(type: string): void;
  /** Runs work with this span as the current one. */
  within<T>(work: () => T): T;
}

/** Spans of the service's work. Without a tracer nothing is wrapped, so tracing costs nothing. */
export interface Tracer {
  /** Runs work within a new span. The span ends with the work, and fails if the work throws. */
  span<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T>;
  /** Adds a span that lasted `lasted_ms` and ends now, below the current one. */
  past(name: string, attributes: Attributes, lasted_ms: number, failure?: string): void;
  readonly current: Span | undefined;
  /** Runs work outside every span. */
  outside<T>(work: () => T): T;
  /** Remembers the current span as the cause of a record, for a limited time and only in this process. */
  remember(id: string): void;
  /** The remembered `traceparent`; undefined if it is forgotten or belongs to another process. */
  causeOf(id: string): string | undefined;
}
