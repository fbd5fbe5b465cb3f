import * as v from "valibot";
import type { Settings } from "../config/parse-options.ts";
import type { DeploymentDriver } from "../drivers/deployment/contract.ts";
import type { Outbound } from "../drivers/outbound/outbound.ts";
import type { Handler } from "../http/handler.ts";
import { isVersioned } from "../http/request-context.ts";
import type { Queue } from "../jobs/queue.ts";
import type { Runner } from "../jobs/runner.ts";
import { declaredKind } from "../jobs/runtime-jobs.ts";
import type { Job } from "../kernel/job.ts";
import { redact } from "../kernel/secrets/secret-redaction.ts";
import { parseUrl } from "../kernel/text/url.ts";
import type { Attributes, Tracer } from "../kernel/tracing.ts";
import { check } from "../kernel/validation.ts";
import type { Store } from "../store/store.ts";

/*
 * Each function wraps one part of the service. Without a tracer it returns the part unchanged, so disabled tracing
 * costs nothing.
 */

type MaybeTracer = Tracer | undefined;

/** The tracer of a service; undefined without the option, or if the program has registered no provider. */
export async function openTracer({ tracing }: Pick<Settings, "tracing">): Promise<MaybeTracer> {
  if (!tracing) return undefined;
  const { loadTracer } = await import("../drivers/tracing/opentelemetry.ts");
  return loadTracer();
}

export const tracingWarnings = ({ tracing }: Pick<Settings, "tracing">, tracer: MaybeTracer): string[] =>
  tracing && !tracer
    ? [
        'option tracing has no effect: no tracer provider is registered. Register one before the service starts, such as with NODE_OPTIONS="--import ./tracing.mjs"',
      ]
    : [];

/** A part with some functions replaced. Its other functions and its getters still work. */
const replaced = <T extends object>(part: T, functions: Partial<T>): T =>
  Object.assign(Object.create(part) as T, functions);

/** A span for each request, named by OpenTelemetry's HTTP conventions. Probes and the dashboard's calls have none. */
export function tracedHandler(handler: Handler, tracer: MaybeTracer): Handler {
  if (!tracer) return handler;
  return (request, route) => {
    if (route.isRoutine || route.leavesNoTrace) return handler(request, route);
    const { method, path, id } = request;
    const routed = route.path.includes("**") ? undefined : route.path;
    const attributes: Attributes = {
      "http.request.method": method,
      "http.route": routed,
      "url.path": redact(path),
      "url.scheme": "http",
      "svc.operation": route.name,
      "svc.request_id": id,
    };
    const cause = { traceparent: isVersioned(request) ? request.header("traceparent") : undefined, wins: false };
    return tracer.span(routed ? `${method} ${routed}` : method, { kind: "server", attributes, cause }, async (span) => {
      const outcome = await handler(request, route);
      const { status } = outcome.answer;
      span.set({ "http.response.status_code": status, "svc.key_id": outcome.key_id ?? undefined });
      if (status >= 500) span.fail(String(status));
      return outcome;
    });
  };
}

/** A span for each transaction of a request or a job. Housekeeping has none. */
export function tracedStore(store: Store, tracer: MaybeTracer): Store {
  if (!tracer) return store;
  return replaced(store, {
    transaction(scope, work, prefetch) {
      if (!tracer.current) return store.transaction(scope, work, prefetch);
      const attributes: Attributes = {
        "db.system.name": store.engine.name.replace(/^postgres$/, "postgresql"),
        "svc.scope": typeof scope === "string" ? scope : "organization",
        "svc.organization_id": typeof scope === "string" ? undefined : scope.organization_id,
      };
      // A commit of another transaction may start this body, so it would otherwise run in that transaction's span.
      return tracer.span("transaction", { kind: "client", attributes }, (span) =>
        store.transaction(scope, (tx) => span.within(() => work(tx)), prefetch),
      );
    },
  });
}

/**
 * Adds the current span to the arguments in the job's row. Every server finds it there, and the job's schema ignores
 * it.
 */
export function tracedQueue(queue: Queue, tracer: MaybeTracer): Queue {
  if (!tracer) return queue;
  const withCause = (args: object) => {
    const traceparent = tracer.current?.traceparent;
    return traceparent === undefined ? args : { ...args, traceparent };
  };
  return {
    add: (tx, kind, args, wait_ms) => queue.add(tx, kind, withCause(args), wait_ms),
    addUnique: (tx, kind, args, key, wait_ms) => queue.addUnique(tx, kind, withCause(args), key, wait_ms),
  };
}

/** Wakes the loop outside the caller's span, because the loop keeps running after that span has ended. */
export const untraced = (wake: (at: number) => void, tracer: MaybeTracer) =>
  tracer ? (at: number) => tracer.outside(() => wake(at)) : wake;

const caused = v.object({ traceparent: v.optional(v.string()) });

/** A span for each job run, as a child of the span that caused the job. */
export function tracedRunner(runner: Runner, tracer: MaybeTracer): Runner {
  if (!tracer) return runner;
  return replaced(runner, {
    run(row) {
      const { traceparent } = check(caused, JSON.parse(row.args));
      const attributes = { "svc.job_id": row.id, "svc.attempt": row.attempt };
      return tracer.span(
        `job ${declaredKind(row.kind)}`,
        { kind: "consumer", attributes, cause: { traceparent, wins: true } },
        () => runner.run(row),
      );
    },
  });
}

/** Records the outcome of a run in its span. A job with new arguments keeps its trace. */
export const tracedJobs = (jobs: readonly Job[], tracer: MaybeTracer): readonly Job[] =>
  tracer ? jobs.map((job) => tracedJob(job, tracer)) : jobs;

const tracedJob = (job: Job, tracer: Tracer): Job => ({
  ...job,
  async run(...given) {
    const outcome = await job.run(...given);
    const span = tracer.current;
    span?.set({ "svc.outcome": outcome.kind });
    if (outcome.kind !== "snooze" || outcome.args === undefined || !span) return outcome;
    return { ...outcome, args: { ...Object(outcome.args), traceparent: span.traceparent } };
  },
});

/** Names only the host, because a receiver's path may be secret. */
const serverOf = (text: string): Attributes => {
  const { hostname, port } = parseUrl(text) ?? {};
  return { "http.request.method": "POST", "server.address": hostname, "server.port": port ? Number(port) : undefined };
};

/** A span for each delivery attempt and each request to a backend, which receive it as `traceparent`. */
export function tracedOutbound(outbound: Outbound, tracer: MaybeTracer): Outbound {
  if (!tracer) return outbound;
  return replaced(outbound, {
    send(request) {
      const { headers, event_id } = request;
      const traceparent = event_id === undefined ? undefined : tracer.causeOf(event_id);
      const attributes: Attributes = {
        ...serverOf(request.url),
        "svc.delivery_id": headers["x-service-delivery"],
        "svc.event": headers["x-service-event"],
        "svc.attempt": Number(headers["x-service-attempt"]),
      };
      const cause = traceparent === undefined ? {} : { cause: { traceparent, wins: true } };
      return tracer.span("delivery", { kind: "client", attributes, ...cause }, async (span) => {
        const sent = await outbound.send({ ...request, headers: { traceparent: span.traceparent, ...headers } });
        const { status, error } = sent;
        span.set({ "http.response.status_code": status ?? undefined });
        if (status === null || status > 299) span.fail(status === null ? (error ?? "error") : String(status));
        return sent;
      });
    },
    callBackend(request) {
      const attributes: Attributes = { ...serverOf(request.url), "http.request.method": request.method };
      return tracer.span(request.method, { kind: "client", attributes }, async (span) => {
        const headers = { traceparent: span.traceparent, ...request.headers };
        const response = await outbound.callBackend({ ...request, headers });
        const { status, error } = response;
        span.set({ "http.response.status_code": status ?? undefined });
        if (status === null || status > 399) span.fail(status === null ? (error ?? "error") : String(status));
        return response;
      });
    },
  });
}

/** A span for each build and each rollout, added at its end: it spans many jobs, and perhaps a restart. */
export function tracedDriver(driver: DeploymentDriver, tracer: MaybeTracer): DeploymentDriver {
  if (!tracer) return driver;
  return replaced(driver, {
    async step(work) {
      const progress = await driver.step(work);
      if (progress.state === "running") return progress;
      const { step, elapsed_ms, deployment_id, project_id, environment, source } = work;
      tracer.past(
        step,
        {
          "svc.deployment_id": deployment_id,
          "svc.project_id": project_id,
          "svc.environment": environment,
          "svc.source": source.type,
        },
        Number.isSafeInteger(elapsed_ms) && elapsed_ms < Number.MAX_SAFE_INTEGER ? elapsed_ms : 0,
        progress.state === "done" ? undefined : progress.state,
      );
      return progress;
    },
  });
}
