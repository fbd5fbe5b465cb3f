import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { context, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { createService, type Options } from "../../lib/index.ts";
import { foundIn, word } from "../helpers/canaries.ts";
import { withSnapshots } from "../helpers/engine.ts";
import { jsonBearer } from "../helpers/headers.ts";
import { startBackend } from "../helpers/openai-backend.ts";
import { temporaryFolder } from "../helpers/program.ts";
import { git, keyOf, seed } from "../helpers/test-service.ts";

/** The real SDK, with an exporter that keeps the spans in memory. */
function tracing(t: TestContext, { hasContexts = false } = {}) {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  trace.setGlobalTracerProvider(provider);
  if (hasContexts) context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  t.after(async () => {
    trace.disable();
    context.disable();
    await provider.shutdown();
  });
  const of = (name: string) => exporter.getFinishedSpans().filter((span) => span.name === name);
  const one = (name: string, traceId?: string): ReadableSpan => {
    const found = of(name).filter((span) => traceId === undefined || span.spanContext().traceId === traceId);
    return found[0] ?? assert.fail(`${name} is not among ${exporter.getFinishedSpans().map((span) => span.name)}`);
  };
  return { all: () => exporter.getFinishedSpans(), of, one };
}

async function traced(t: TestContext, options: Options = {}) {
  const service = await createService({ clock: "manual", tracing: true, seed, ...options });
  t.after(() => service.close());
  const headers = jsonBearer(keyOf("owner"));
  const post = async (path: string, body: object, more: Record<string, string> = {}) => {
    const init = { method: "POST", headers: { ...headers, ...more }, body: JSON.stringify(body) };
    const response = await service.fetch(`/v1${path}`, init);
    assert.equal(response.status, 201);
    // biome-ignore lint/suspicious/noExplicitAny: a test may assert any field of an answer
    return (await response.json()) as any;
  };
  return { service, post, caught: () => service.inbox.list({ endpoint: "hook" }) };
}

const caller = (letter: string) => ({ traceId: letter.repeat(32), spanId: "b".repeat(16) });
const traceparent = ({ traceId, spanId }: { traceId: string; spanId: string }) => `00-${traceId}-${spanId}-01`;
const hook = { url: "https://hook.inbox.test/in", events: ["*"] };
const web = { name: "web", region: "eu-west-1" };

for (const hasContexts of [true, false])
  test(`a request leads to its transaction, its job and its delivery, in the trace of its caller ${hasContexts ? "with" : "without"} a context manager`, async (t) => {
    const { one, all } = tracing(t, { hasContexts });
    const { service, post, caught } = await traced(t);
    await post("/webhooks", hook);
    const from = caller("a");
    await post("/projects", web, { traceparent: traceparent(from) });
    await service.settle();

    const request = one("POST /v1/projects");
    assert.equal(request.parentSpanContext?.spanId, from.spanId);
    const { "svc.request_id": id, "svc.key_id": key, ...attributes } = request.attributes;
    assert.match(`${id} ${key}`, /^req_\w+ key_\w+$/);
    assert.deepEqual(attributes, {
      "http.request.method": "POST",
      "http.route": "/v1/projects",
      "url.path": "/v1/projects",
      "url.scheme": "http",
      "svc.operation": "projects.create",
      "http.response.status_code": 201,
    });
    const [transaction, job, delivery] = ["transaction", "job deliveries.pump", "delivery"].map((name) =>
      one(name, from.traceId),
    );
    assert.equal(transaction?.parentSpanContext?.spanId, request.spanContext().spanId);
    assert.equal(job?.parentSpanContext?.spanId, transaction?.spanContext().spanId);
    assert.equal(delivery?.parentSpanContext?.spanId, transaction?.spanContext().spanId);
    assert.deepEqual(
      [delivery?.attributes["svc.event"], delivery?.attributes["http.response.status_code"]],
      ["project.created", 200],
    );
    assert.equal(caught()[0]?.headers["traceparent"], traceparent(delivery?.spanContext() ?? from));
    // Work without a request starts no trace.
    const names = all().flatMap(({ name, parentSpanContext }) => (parentSpanContext ? [] : [name]));
    assert.deepEqual([...new Set(names)], ["POST /v1/webhooks"]);
  });

test("each delivery is in the trace of its own request, although one job sends them", async (t) => {
  const { of } = tracing(t);
  const { service, post, caught } = await traced(t);
  await post("/webhooks", hook);
  for (const letter of ["a", "c"])
    await post("/projects", { ...web, name: `web ${letter}` }, { traceparent: traceparent(caller(letter)) });
  await service.settle();
  assert.deepEqual(
    of("delivery")
      .map((span) => span.spanContext().traceId)
      .sort(),
    ["a".repeat(32), "c".repeat(32)],
  );
  assert.equal(of("job deliveries.pump").length, 1);
  assert.equal(new Set(caught().map(({ headers }) => headers["traceparent"])).size, 2);
});

test("a job that runs after a restart is in the trace of its request", async (t) => {
  const { one } = tracing(t);
  const database = join(temporaryFolder(t), "svc.db");
  const before = await traced(t, { database });
  await before.post("/webhooks", hook);
  await before.post("/projects", web, { traceparent: traceparent(caller("a")) });
  await before.service.close();
  const after = await traced(t, { database });
  await after.service.settle();
  const delivery = one("delivery", caller("a").traceId);
  assert.equal(delivery.parentSpanContext?.spanId, one("job deliveries.pump").spanContext().spanId);
});

test("a build and a rollout last as long as they did, and a failure has no message", async (t) => {
  const { one, of } = tracing(t);
  const { service, post } = await traced(t);
  const { id: project_id } = await post("/projects", web);
  await service.scenarios.next("deployment", { durations: { building: "7s" } });
  const order = { project_id, environment: "production", source: git };
  await post("/deployments", order, { traceparent: traceparent(caller("a")) });
  await service.clock.runUntilIdle();
  const seconds = ({ duration: [whole, rest] }: ReadableSpan) => whole + rest / 1e9;
  assert.ok(Math.abs(seconds(one("build", caller("a").traceId)) - 7) < 0.01);
  assert.ok(Math.abs(seconds(one("rollout", caller("a").traceId)) - 2) < 0.01);
  await service.scenarios.next("deployment", { result: "fail", message: "token=abcdef" });
  await post("/deployments", order);
  await service.clock.runUntilIdle();
  const failed = of("build").at(-1);
  assert.deepEqual(failed?.status, { code: SpanStatusCode.ERROR });
  assert.equal(failed?.attributes["error.type"], "failed");
});

test("backends and receivers get the trace, and no span holds a secret", async (t) => {
  const { all, one } = tracing(t);
  const secrets = { path: word(), secret: word(), prompt: word(), variable: word(), key: keyOf("owner") };
  const asked: unknown[] = [];
  const backend = await startBackend(t, (response, { headers }) => {
    asked.push(headers["traceparent"]);
    response.writeHead(400).end(JSON.stringify({ error: { message: secrets.prompt } }));
  });
  const backends = { mine: { type: "openai" as const, url: `${backend.url}/v1`, models: { painter: {} } } };
  const { service, post } = await traced(t, { generations: { backends } });
  await post("/webhooks", { ...hook, url: `https://hook.inbox.test/${secrets.path}`, secret: secrets.secret });
  service.inbox.script("hook", [500]);
  await post("/generations", { model: "painter", prompt: secrets.prompt }, { traceparent: traceparent(caller("a")) });
  await service.clock.runUntilIdle();
  const call = one("POST", caller("a").traceId);
  assert.deepEqual(asked, [traceparent(call.spanContext())]);
  assert.equal(call.attributes["server.port"], Number(new URL(backend.url).port));
  const wrong = await service.fetch(`/v1/${secrets.key}`, { headers: { authorization: `Bearer ${secrets.key}` } });
  assert.equal(wrong.status, 404);
  const { id } = await post("/projects", web);
  await service.fetch(`/v1/projects/${id}/environments/production?token=${secrets.secret}`, {
    method: "PUT",
    headers: jsonBearer(secrets.key),
    body: JSON.stringify({ variables: { A: { value: secrets.variable, secret: true } } }),
  });
  const text = JSON.stringify(
    all().map(({ name, attributes, status, events, links }) => [name, attributes, status, events, links]),
  );
  assert.ok(text.includes('"svc.event":"generation.failed"'));
  assert.deepEqual(foundIn(secrets, text), []);
});

test("a traceparent that is malformed, or of a path outside /v1, is passed over", async (t) => {
  const { one } = tracing(t);
  const { service, post } = await traced(t);
  await post("/projects", web, { traceparent: `00-${"0".repeat(32)}-${"b".repeat(16)}-01` });
  assert.equal(one("POST /v1/projects").parentSpanContext, undefined);
  await service.fetch("/v2", { headers: { traceparent: traceparent(caller("a")) } });
  assert.equal(one("GET").parentSpanContext, undefined);
  await service.fetch("/healthz");
  await service.fetch("/_svc/clock");
});

test("without the option nothing is traced, and without a provider it warns", async (t) => {
  const off = tracing(t);
  const { post } = await traced(t, { tracing: false });
  await post("/projects", web);
  assert.deepEqual(off.all(), []);
  trace.disable();
  const warnings: string[] = [];
  const nothing = () => {};
  const logger = {
    error: nothing,
    info: nothing,
    debug: nothing,
    warn: (message: string) => void warnings.push(message),
  };
  const untraced = await traced(t, { logger, logLevel: "warn" });
  await untraced.post("/projects", web);
  assert.match(warnings[0] ?? "", /^option tracing has no effect: no tracer provider is registered\. Register one/);
});

test("a preview and a muted fork make no spans", withSnapshots, async (t) => {
  const { all } = tracing(t);
  const { service, post } = await traced(t);
  await post("/webhooks", hook);
  await post("/projects", web);
  const before = all().length;
  await service.preview({ by: "1h" });
  const fork = await service.fork({ muted: true });
  await fork.settle();
  await fork.close();
  assert.equal(all().length, before);
});
