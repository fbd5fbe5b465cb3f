import { AsyncLocalStorage } from "node:async_hooks";
import type { Span as ApiSpan, Context } from "@opentelemetry/api";
import { createClock } from "../../kernel/clock.ts";
import type { Attributes, Span, Tracer } from "../../kernel/tracing.ts";
import { version } from "../../kernel/version.ts";

/** How many causes are remembered: a few minutes' worth under load. */
const maxCauses = 10_000;
/** A longer span can only come from a tester's clock. */
const maxSpan_ms = 24 * 3_600_000;

/** https://www.w3.org/TR/trace-context/: later versions may add parts. */
const traceparentForm = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/;

async function loadApi() {
  try {
    return await import("@opentelemetry/api");
  } catch (cause) {
    const message = 'option tracing needs the package @opentelemetry/api. Run "npm install @opentelemetry/api".';
    throw new Error(message, { cause });
  }
}

type Api = Awaited<ReturnType<typeof loadApi>>;

/** A tracer from the provider that the program registered; undefined if there is none. */
export async function loadTracer(): Promise<Tracer | undefined> {
  const api = await loadApi();
  const provider = api.trace.getTracerProvider();
  const isRegistered = !(provider instanceof api.ProxyTracerProvider) || provider.getDelegateTracer("svc-server");
  return isRegistered ? createTracer(api) : undefined;
}

function parentOf(api: Api, base: Context, traceparent: string | undefined): Context | undefined {
  const [, traceId, spanId, flags] = traceparentForm.exec(traceparent ?? "") ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return api.trace.setSpanContext(base, {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & 1,
    isRemote: true,
  });
}

function traceparentOf(span: ApiSpan): string {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return `00-${traceId}-${spanId}-${(traceFlags & 1).toString().padStart(2, "0")}`;
}

const defined = (attributes: Attributes) =>
  Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));

function createTracer(api: Api): Tracer {
  const { trace, context, ROOT_CONTEXT, SpanKind, SpanStatusCode } = api;
  const tracer = trace.getTracer("svc-server", version());
  // For programs without a context manager, which would also know the spans of the program.
  const contexts = new AsyncLocalStorage<Context>();
  const causes = new Map<string, string>();
  const clock = createClock("real");
  const kinds = {
    server: SpanKind.SERVER,
    client: SpanKind.CLIENT,
    producer: SpanKind.PRODUCER,
    consumer: SpanKind.CONSUMER,
    internal: SpanKind.INTERNAL,
  };

  const active = (): Context => {
    const given = context.active();
    return trace.getSpanContext(given) ? given : (contexts.getStore() ?? given);
  };
  const inContext = <T>(of: Context, work: () => T): T => contexts.run(of, () => context.with(of, work));
  const spanOf = (span: ApiSpan, of: Context): Span => ({
    get traceparent() {
      return traceparentOf(span);
    },
    set: (attributes) => void span.setAttributes(defined(attributes)),
    fail(type) {
      span.setAttribute("error.type", type);
      span.setStatus({ code: SpanStatusCode.ERROR });
    },
    within: (work) => inContext(of, work),
  });
  const current = (): Span | undefined => {
    const of = active();
    const span = trace.getSpan(of);
    return span && spanOf(span, of);
  };

  return {
    async span(name, { kind, attributes, cause }, work) {
      const here = active();
      const isBelow = trace.getSpanContext(here) !== undefined && cause?.wins !== true;
      const base = cause?.wins ? ROOT_CONTEXT : here;
      const parent = (isBelow ? undefined : parentOf(api, base, cause?.traceparent)) ?? base;
      const span = tracer.startSpan(name, { kind: kinds[kind], attributes: defined(attributes) }, parent);
      const of = trace.setSpan(parent, span);
      const handle = spanOf(span, of);
      try {
        return await inContext(of, () => work(handle));
      } catch (error) {
        // The error's message may contain a secret, so only its name is recorded.
        handle.fail(error instanceof Error ? error.name : "error");
        throw error;
      } finally {
        span.end();
      }
    },
    past(name, attributes, lasted_ms, failure) {
      const end = clock.now();
      const startTime = end - Math.min(Math.max(lasted_ms, 0), maxSpan_ms);
      const span = tracer.startSpan(name, { startTime, attributes: defined(attributes) }, active());
      if (failure !== undefined) spanOf(span, active()).fail(failure);
      span.end(end);
    },
    get current() {
      return current();
    },
    outside: (work) => inContext(ROOT_CONTEXT, work),
    remember(id) {
      const traceparent = current()?.traceparent;
      if (traceparent === undefined) return;
      causes.set(id, traceparent);
      if (causes.size > maxCauses) for (const [oldest] of causes) return void causes.delete(oldest);
    },
    causeOf: (id) => causes.get(id),
  };
}
