import assert from "node:assert/strict";
import { test } from "node:test";
import { createGeneration, sharedPainter, small } from "../helpers/painter.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";
import { openStream } from "../helpers/stream-client.ts";
import { expect, type World, world } from "../helpers/test-service.ts";

const driver = sharedPainter();

/** The bodies received by a webhook for all events, a webhook for one event, and a chat channel. */
async function connect(here: World) {
  const received: Record<string, string[]> = { all: [], completed: [], chat: [] };
  for (const name of ["all", "completed", "chat"])
    here.service.webhooks.sink(name, async (request) => {
      received[name]?.push(await request.text());
      return new Response();
    });
  const hook = (name: string, events: string[]) => ({ url: `https://${name}.inbox.test/in`, events });
  expect(await here.call("owner", "POST", "/v1/webhooks", hook("all", ["*"])), 201);
  expect(await here.call("owner", "POST", "/v1/webhooks", hook("completed", ["generation.completed"])), 201);
  const chat = { type: "chat", config: { webhook_url: "https://chat.inbox.test/in" } };
  expect(await here.call("owner", "POST", "/v1/integrations", chat), 201);
  return received;
}
const bodies = (texts: string[] = []) => texts.map((text) => JSON.parse(text));

/** The states that a generation entered, by the journal and by the metrics: each once. */
async function assertEntered(here: World, id: string, states: readonly string[]) {
  const entries = here.service.journal.list({ kind: "state" });
  assert.deepEqual(
    entries.flatMap((one) => (one.kind === "state" && one.id === id ? [one.status] : [])),
    states,
  );
  const metrics = await (await here.service.fetch("/metrics")).text();
  for (const state of states) assert.ok(metrics.includes(`svc_generations_total{state="${state}"} 1\n`), state);
}

test("The end of a generation is an event with its cost, and a cancelled one has failed", async (t) => {
  const here = await world(t, { generations: { driver: driver() } });
  const received = await connect(here);
  const done = await createGeneration(here);
  await here.service.clock.advance("3s");
  await here.service.scenarios.next("generation", { result: "fail", message: "no <memory>" });
  const failed = await createGeneration(here);
  await here.service.clock.advance("3s");
  const cancelled = await createGeneration(here);
  expect(await here.call("owner", "POST", `/v1/generations/${cancelled.id}/cancel`), 200);
  await here.service.clock.advance("1m");
  const completed = {
    event: "generation.completed",
    timestamp: "2026-01-01T00:00:03.000Z",
    data: { generation_id: done.id, model: small.model, status: "completed", cost_usd: 0.01 },
  };
  const error = { code: "generation_failed", message: "no <memory>" };
  const ended = {
    event: "generation.failed",
    timestamp: "2026-01-01T00:00:06.000Z",
    data: { generation_id: failed.id, model: small.model, status: "failed", cost_usd: 0, error },
  };
  const byHand = {
    ...ended,
    data: {
      ...ended.data,
      generation_id: cancelled.id,
      error: { code: "cancelled", message: "The generation was cancelled" },
    },
  };
  assert.deepEqual(bodies(received.all), [completed, ended, byHand]);
  assert.deepEqual(bodies(received.completed), [completed]);
  const [first, second] = bodies(received.chat).map(({ text }) => text);
  assert.match(first, /any-image.*completed.*\$0\.01/);
  assert.match(second, /failed: no &lt;memory&gt;$/);
});

test("The event has the finished status that the service is set to", async (t) => {
  const here = await world(t, { generations: { driver: driver(), finishedStatus: "succeeded" } });
  const received = await connect(here);
  await createGeneration(here);
  await here.service.clock.advance("3s");
  assert.equal(bodies(received.all)[0].data.status, "succeeded");
});

test("progress is elapsed time by duration with two decimals, and only while it is in progress", async (t) => {
  const here = await world(t, { generations: { driver: driver() } });
  await here.service.scenarios.next("generation", { durations: { in_progress: "3s" } });
  const { id, ...queued } = await createGeneration(here);
  assert.ok(!("progress" in queued));
  const read = async () => expect(await here.call("viewer", "GET", `/v1/generations/${id}`), 200).progress;
  const seen: (number | undefined)[] = [];
  for (const wait of ["1s", "1s", "1s", "999ms", "1ms"] as const) {
    await here.service.clock.advance(wait);
    seen.push(await read());
  }
  assert.deepEqual(seen, [0, 0.33, 0.67, 1, undefined]);
  const { data } = expect(await here.call("viewer", "GET", "/v1/generations"), 200);
  assert.ok(!("progress" in data[0]));
});

test("A driver's progress is on the generation and on the stream, each change once", async (t) => {
  const parts = [0.1, 0.1, 0.5, undefined];
  let polls = 0;
  const here = await listeningWorld(t, {
    generations: {
      driver: {
        ...{ delay: () => 0, cancel: async () => {} },
        submit: async () => ({ state: "running", again_ms: 1000, handle: "job" }),
        poll: async (_, handle) => ({ state: "running", again_ms: 1000, handle, progress: parts[polls++] }),
      },
    },
  });
  const stream = openStream(t, here, "?events=generation.status");
  await stream.begun;
  const { id } = await createGeneration(here);
  await here.service.clock.advance("3s");
  assert.equal(expect(await here.call("viewer", "GET", `/v1/generations/${id}`), 200).progress, 0.5);
  await here.service.clock.advance("1s");
  assert.equal(expect(await here.call("viewer", "GET", `/v1/generations/${id}`), 200).progress, undefined);
  const messages = await stream.until(5);
  assert.deepEqual(
    messages.map(({ data }) => [data.status, data.progress]),
    [
      ["queued", undefined],
      ["in_progress", undefined],
      ["in_progress", 0.1],
      ["in_progress", 0.5],
      ["in_progress", undefined],
    ],
  );
  await assertEntered(here, id, ["queued", "in_progress"]);
});

test("The progress of a driver that works until its answer is on the stream, each change once", async (t) => {
  let part: number | undefined;
  let finish = () => {};
  const here = await listeningWorld(t, {
    clock: "1000x",
    generations: {
      driver: {
        ...{ delay: () => 0, cancel: async () => {}, progressOf: () => part },
        submit: () =>
          new Promise((resolve) => {
            finish = () => resolve({ state: "failed", message: "no such model" });
          }),
        poll: async () => ({ state: "failed", message: "never asked" }),
      },
    },
  });
  const stream = openStream(t, here, "?events=generation.status");
  await stream.begun;
  const { id } = await createGeneration(here);
  const messages = async (count: number) => (await stream.until(count)).map(({ data }) => [data.status, data.progress]);
  assert.deepEqual((await messages(2)).at(-1), ["in_progress", undefined]);
  part = 0.25;
  assert.deepEqual((await messages(3)).at(-1), ["in_progress", 0.25]);
  part = 0.75;
  assert.deepEqual((await messages(4)).at(-1), ["in_progress", 0.75]);
  assert.equal(expect(await here.call("viewer", "GET", `/v1/generations/${id}`), 200).progress, 0.75);
  finish();
  assert.deepEqual((await messages(5)).at(-1), ["failed", undefined]);
  await assertEntered(here, id, ["queued", "in_progress", "failed"]);
});
