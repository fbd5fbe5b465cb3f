import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { BackendOptions } from "../../lib/drivers/generation/backend-client.ts";
import { type BackendSettings, backendDriver } from "../../lib/drivers/generation/backend-driver.ts";
import { createOutbound } from "../../lib/drivers/outbound/outbound.ts";
import { linesOf, startChild } from "../helpers/child-processes.ts";
import { conforms, finish, work } from "../helpers/generation-driver.ts";
import { film, type JobBackend, jobBackends, startJobBackend } from "../helpers/job-backends.ts";
import { type BackendHandler, json, pixel, startBackend } from "../helpers/openai-backend.ts";
import { folderOf } from "../helpers/temporary-store.ts";
import { expect, world } from "../helpers/test-service.ts";

const key = "sk-demo-of-the-operator";

function driverOf(
  t: TestContext,
  type: JobBackend["type"] | "openai",
  url: string,
  more: Partial<BackendOptions> = {},
) {
  const outbound = createOutbound({ mode: "start" });
  t.after(() => outbound.close());
  const models = { any: { model: "maker/model", pricePerSecond: 0.01, extra: { steps: 4 } } };
  const settings: BackendSettings = { type, url, key, models, downloads: [], timeout_ms: 60_000, ...more };
  return backendDriver(settings, outbound);
}

const stage = async (t: TestContext, of: JobBackend, answers?: readonly BackendHandler[]) => {
  const backend = await startJobBackend(t, of, answers);
  return { ...backend, driver: driverOf(t, of.type, backend.url) };
};
const orderOf = ({ kind }: JobBackend, more: object = {}) =>
  work({ kind, duration_ms: kind === "video" ? 2000 : 0, format: kind === "video" ? "mp4" : "png", ...more });

for (const of of jobBackends) {
  const { type } = of;
  conforms(type, async (t) => (await stage(t, of)).driver, of.kind);

  test(`${type}: the job is ordered once, with the key, and asked for by its identifier`, async (t) => {
    const { driver, asked, orders } = await stage(t, of, [of.running, of.done]);
    const answer = await finish(driver, orderOf(of, { prompt: "a hill" }));
    assert.equal(answer.state, "done");
    assert.equal(orders().length, 1);
    const [order] = orders();
    const text = JSON.stringify(order?.body);
    assert.match(text, /"prompt":"a hill"/);
    assert.match(text, /"steps":4/);
    assert.equal(order?.headers["idempotency-key"], work().generation_id);
    assert.ok(asked.every(({ headers }) => headers.authorization === `Bearer ${key}`));
  });

  test(`${type}: a cancel reaches the backend`, async (t) => {
    const { driver, paths } = await stage(t, of, [of.running]);
    const begun = await driver.submit(orderOf(of));
    assert.ok(begun.state === "running" && begun.handle !== null);
    await driver.cancel(orderOf(of), begun.handle);
    assert.equal(paths().at(-1), of.cancelPath ? `POST ${of.cancelPath}` : `POST ${of.orderPath}`);
  });

  test(`${type}: a handle that is a path leads nowhere`, async (t) => {
    const { driver, asked } = await stage(t, of);
    await driver.cancel(orderOf(of), "../../account");
    assert.equal(asked.length, 0);
  });

  const passing: Readonly<Record<string, BackendHandler>> = {
    "429 with Retry-After": json(429, {}, { "retry-after": "7" }),
    "500": json(500, { error: "out of memory" }),
    "a hang-up": (response) => response.destroy(),
    "half a body": (response) => response.writeHead(200, { "content-length": 99 }).write("{", () => response.destroy()),
    "HTML of a proxy": (response) => response.end("<html>busy</html>"),
    "an unknown status": of.unknown,
  };
  for (const [name, answer] of Object.entries(passing))
    test(`${type}: ${name} while it is asked for loses no job and orders none again`, async (t) => {
      const { driver, orders } = await stage(t, of, [answer, answer, of.done]);
      assert.equal((await finish(driver, orderOf(of))).state, "done");
      assert.equal(orders().length, 1);
    });

  const bad: readonly (readonly [name: string, answer: BackendHandler, message: RegExp])[] = [
    ["HTML", (response) => response.end("<html>busy</html>"), /response is not a job/],
    ["JSON of another form", json(200, { data: [] }), /response is not a job/],
    ["a failure", of.failed, /NSFW|no results|refused the prompt/],
    ["an error instead of a job", json(200, { error: { message: "out of credits" } }), /answered 200: out of credits/],
    ["401", json(401, { detail: `no such key ${key}` }), /answered 401: no such key \[redacted\]$/],
    ["402", json(402, { error: { message: "insufficient credits" } }), /answered 402: insufficient credits$/],
    ["404", json(404, { error: "job not found" }), /no longer has the job/],
  ];
  for (const [name, answer, message] of bad)
    test(`${type}: ${name} fails the generation with a sentence, and orders nothing again`, async (t) => {
      const { driver, orders, paths } = await stage(t, of, [answer]);
      const ended = await finish(driver, orderOf(of));
      assert.match(ended.state === "failed" ? ended.message : "", message);
      assert.equal(orders().length, 1);
      const isUnread = / did not finish within 1m: /.test(ended.state === "failed" ? ended.message : "");
      assert.equal(paths().at(-1) === `POST ${of.cancelPath}`, isUnread && of.cancelPath !== undefined);
    });

  test(`${type}: a file that is called another type than its bytes is taken`, async (t) => {
    const { driver } = await stage(t, of, [of.misnamed]);
    assert.equal((await finish(driver, orderOf(of))).state, "done");
  });

  test(`${type}: work without an end is cancelled at its limit`, async (t) => {
    const { driver, paths } = await stage(t, of, [of.unknown]);
    const ended = await finish(driver, orderOf(of));
    assert.match(ended.state === "failed" ? ended.message : "", /did not finish within 1m/);
    if (of.cancelPath) assert.equal(paths().at(-1), `POST ${of.cancelPath}`);
  });

  test(`${type}: an order that the backend refuses is a sentence, and a full one is retried`, async (t) => {
    const refused = await startBackend(t, json(402, { detail: "pay first" }));
    const answer = await driverOf(t, type, refused.url).submit(orderOf(of));
    assert.match(answer.state === "failed" ? answer.message : "", /402: pay first/);
    const full = await startBackend(t, json(429, {}, { "retry-after": "9" }));
    const later = await driverOf(t, type, full.url).submit(orderOf(of));
    assert.deepEqual(later, { state: "running", again_ms: 9000, handle: null });
  });
}

for (const type of ["predictions", "openrouter"] as const) {
  const of = jobBackends.find((one) => one.type === type);
  /** The finished job with its file behind a URL. `trouble` answers the first requests for the file. */
  const behindUrl = async (t: TestContext, trouble: BackendHandler, times: number) => {
    let fetched = 0;
    const file = type === "predictions" ? pixel : film;
    const backend = await startBackend(t, (response, asked) => {
      if (asked.method === "POST") return of?.accepted(response, asked);
      if (/content|\.png/.test(asked.path)) return fetched++ < times ? trouble(response, asked) : response.end(file);
      if (type === "openrouter") return of?.done(response, asked);
      return json(200, { id: "job_1", status: "succeeded", output: [`${backend.url}/a.png`] })(response, asked);
    });
    const ended = await finish(driverOf(t, type, `${backend.url}${of?.base}`), work({ kind: of?.kind ?? "image" }));
    const orders = backend.asked.filter(({ path }) => path === of?.orderPath).length;
    return { ended, orders, fetched };
  };
  const passing: Readonly<Record<string, BackendHandler>> = {
    "503": json(503, {}),
    "a hang-up": (response) => response.destroy(),
    "half a file": (response) => response.writeHead(200, { "content-length": 99 }).write("x", () => response.destroy()),
  };
  for (const [name, trouble] of Object.entries(passing))
    test(`${type}: ${name} in place of the file of a job that was paid for fetches it again`, async (t) => {
      const { ended, orders, fetched } = await behindUrl(t, trouble, 2);
      assert.deepEqual([ended.state, orders, fetched], ["done", 1, 3]);
    });

  test(`${type}: a file that never comes ends the generation at the limit, and one that is gone at once`, async (t) => {
    const never = await behindUrl(t, json(503, {}), 1000);
    assert.match(
      never.ended.state === "failed" ? never.ended.message : "",
      /did not finish within 1m: the backend's file could not be fetched: 503/,
    );
    const gone = await behindUrl(t, json(404, {}), 1000);
    assert.match(gone.ended.state === "failed" ? gone.ended.message : "", /could not be fetched: 404/);
    assert.deepEqual([gone.orders, gone.fetched], [1, 1]);
  });
}

test("A service that is killed while a job runs goes on asking for it, and orders and bills nothing twice", async (t) => {
  const [of] = jobBackends;
  assert.ok(of);
  const database = join(folderOf(t), "svc.db");
  let asked = () => {};
  const firstQuestion = new Promise<void>((resolve) => {
    asked = resolve;
  });
  const { url, orders } = await startJobBackend(t, of, [() => asked(), of.done]);
  const child = await startChild(database, "order", {}, url);
  const lines = linesOf(child, () => false);
  await firstQuestion;
  child.process.kill("SIGKILL");
  const id = (await lines).find((line) => line.startsWith("generation"))?.split(" ")[1];
  const later = new Date(Date.now() + 60_000).toISOString();
  const backends = { far: { type: "predictions" as const, url, models: { "far-away": { price: 0.5 } } } };
  const here = await world(t, { database, clock: `manual@${later}`, generations: { backends } });
  await here.service.clock.advance("1m");
  const { status, usage } = expect(await here.call("owner", "GET", `/v1/generations/${id}`), 200);
  assert.deepEqual([status, usage.cost_usd, orders().length], ["completed", 0.5, 1]);
  assert.equal(expect(await here.call("owner", "GET", "/v1/usage"), 200).total.cost_usd, 0.5);
});

for (const idempotent of [false, true]) {
  const end = idempotent
    ? "is sent again to a backend that honours its key"
    : "is not sent again, so it is billed once";
  test(`An order with a price, whose answer a kill lost, ${end}`, async (t) => {
    const database = join(folderOf(t), "svc.db");
    let child: Awaited<ReturnType<typeof startChild>> | undefined;
    const backend = await startBackend(t, (response, asked) => {
      if (backend.asked.length === 1) child?.process.kill("SIGKILL");
      else
        json(201, { id: "job_1", status: "succeeded", output: `data:image/png;base64,${pixel.toString("base64")}` })(
          response,
          asked,
        );
    });
    const { url } = backend;
    child = await startChild(database, "order", {}, url);
    await linesOf(child, () => false);
    const later = new Date(Date.now() + 60_000).toISOString();
    const far = { type: "predictions" as const, url, idempotent, models: { "far-away": { price: 0.5 } } };
    const here = await world(t, { database, clock: `manual@${later}`, generations: { backends: { far } } });
    await here.service.clock.advance("1m");
    const [{ id, status, error, usage }] = expect(await here.call("owner", "GET", "/v1/generations"), 200).data;
    const keys = backend.asked.map(({ headers }) => headers["idempotency-key"]);
    const wanted = idempotent ? ["completed", undefined, 0.5, [id, id]] : ["failed", "backend_interrupted", 0, [id]];
    assert.deepEqual([status, error?.code, usage.cost_usd, keys], wanted);
  });
}

const [replicate, , router] = jobBackends;

test("predictions: the cost is the reported time, and the progress the last percentage of the logs", async (t) => {
  assert.ok(replicate);
  const { driver } = await stage(t, replicate, [replicate.running, replicate.done]);
  const asked = await driver.poll(orderOf(replicate), "job_1");
  assert.equal(asked.state === "running" && asked.progress, 0.4);
  const done = await driver.poll(orderOf(replicate), "job_1");
  assert.equal(done.state === "done" && done.cost_usd, 0.025);
});

test("predictions: a container of Cog answers the order with the picture, and 409 while it is busy", async (t) => {
  const output = `data:image/png;base64,${pixel.toString("base64")}`;
  const cog = await startBackend(t, json(200, { status: "succeeded", output, metrics: { predict_time: 1 } }));
  assert.equal((await driverOf(t, "predictions", cog.url).submit(work())).state, "done");
  const busy = await startBackend(t, json(409, { detail: "Already running a prediction" }));
  assert.equal((await driverOf(t, "predictions", busy.url).submit(work())).state, "running");
});

test("openrouter: pictures come with the order, and their cost with them", async (t) => {
  const data = [{ b64_json: pixel.toString("base64"), media_type: "image/png" }];
  const backend = await startBackend(t, json(200, { created: 1, data, usage: { cost: 0.04 } }));
  const answer = await driverOf(t, "openrouter", backend.url).submit(work());
  assert.deepEqual(answer, { state: "done", bytes: pixel, cost_usd: 0.04 });
  assert.equal(backend.asked[0]?.path, "/images");
  assert.ok(router);
});

test("A file that ends in the middle is not taken", async (t) => {
  const data = [{ b64_json: pixel.subarray(0, 50).toString("base64") }];
  const backend = await startBackend(t, json(200, { data }));
  const answer = await driverOf(t, "openai", backend.url).submit(work());
  assert.match(answer.state === "failed" ? answer.message : "", /ends in the middle/);
});
