import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { operations } from "../../lib/composition/operations.ts";
import { createRandom } from "../../lib/kernel/random.ts";
import { allSteps, impossible, runSteps } from "../helpers/all-operations.ts";
import { hasSnapshots } from "../helpers/engine.ts";
import { pixel } from "../helpers/openai-backend.ts";
import { sharedPainter } from "../helpers/painter.ts";
import { forked, type World, world } from "../helpers/test-service.ts";

const steps = 200;
const driver = sharedPainter();

/** All requests that left the process, byte for byte. A fork shares the list with its parent service. */
interface Prepared {
  readonly here: World;
  readonly sent: string[];
}

/** A function answers all outgoing requests: with pictures for the backend, with success for everything else. */
async function prepared(t: TestContext, random = "world"): Promise<Prepared> {
  const sent: string[] = [];
  const transport = async (request: Request) => {
    sent.push(`${request.method} ${request.url} ${JSON.stringify([...request.headers])} ${await request.text()}`);
    return request.url.endsWith("/images/generations")
      ? Response.json({ data: [{ b64_json: pixel.toString("base64") }] })
      : new Response(null, { status: 202 });
  };
  const backends = { mine: { type: "openai" as const, url: "https://images.test/v1", models: { "flux-dev": {} } } };
  const here = await world(t, { random, transport, generations: { driver: driver(), backends } });
  // Each of these endpoints fails three times.
  for (const letter of "abcdefghijklmnopqrstuvwxyz")
    here.service.inbox.script(`h${letter}`, [500, 503, { timeout: true }]);
  return { here, sent };
}

/** Runs the steps and returns all results: answers, received deliveries, events and files. */
async function outcome({ here, sent }: Prepared): Promise<string[]> {
  const before = sent.length;
  const { responses, succeeded, generations, call } = await runSteps(here, createRandom("script"), steps);
  const unheard = operations.filter(({ id }) => !succeeded.has(id) && !impossible.includes(id));
  assert.deepEqual(
    unheard.map(({ id }) => id),
    [],
    "every operation succeeds at least once",
  );
  const files: string[] = [];
  for (const id of generations) {
    const { output } = (await call("generations.get", { id })).body;
    const file = output && (await here.service.fetch(output.url));
    if (file)
      files.push(`${JSON.stringify([...file.headers])} ${Buffer.from(await file.arrayBuffer()).toString("base64")}`);
  }
  const caught = here.service.inbox.list().map((one) => JSON.stringify(one));
  const went = sent.slice(before);
  for (const some of [files, caught, went]) assert.ok(some.length > 0);
  for (const host of ["images.test", "api.monitor.test", "chat.test"])
    assert.ok(
      went.some((one) => one.includes(host)),
      host,
    );
  return [...responses, ...files, ...caught, ...went, JSON.stringify(here.service.journal.list())];
}

const same = (one: readonly string[], two: readonly string[]) => {
  assert.equal(one.length, two.length);
  for (const [step, line] of one.entries()) assert.equal(two[step], line);
};

test("every operation has a step", () => {
  assert.deepEqual(
    operations.map(({ id }) => id).filter((id) => !(id in allSteps)),
    [],
  );
});

test(`the same ${steps} steps give the same bytes: answers, headers, deliveries, files`, async (t) => {
  const [one, two] = [await prepared(t), await prepared(t)];
  const fork = hasSnapshots ? { ...one, here: await forked(t, one.here) } : undefined;
  const kept = hasSnapshots ? await two.here.service.snapshot() : undefined;
  const expected = await outcome(one);
  assert.ok(expected.length >= steps);
  same(expected, await outcome(two));
  if (fork) same(expected, await outcome(fork));
  if (kept) {
    await two.here.service.restore(kept.id);
    same(expected, await outcome(two));
  }
  assert.notDeepEqual(await outcome(await prepared(t, "another world")), expected);
});
