import assert from "node:assert/strict";
import { test } from "node:test";
import type { Service } from "../../lib/index.ts";
import { createTestService, forkTestService } from "../../lib/testing.ts";
import { withSnapshots } from "../helpers/engine.ts";
import { runner } from "../helpers/fake-test-runner.ts";

/** A test as its runner sees it: a service, and the clean-up at the end. */
async function wrongTest(options = {}) {
  const { t, end } = runner("after");
  const service = await createTestService(t, options);
  const { id: project_id } = await service.client().projects.create({ name: "web", region: "eu-west-1" });
  const source = { type: "git", repo: "acme/web", branch: "main" } as const;
  const { id } = await service.client().deployments.create({ project_id, environment: "production", source });
  return { service, id, end };
}

/** Calls that move or settle the clock, each with its name. */
const moves: readonly [string, (service: Service) => Promise<unknown>][] = [
  ["clock.advance", ({ clock }) => clock.advance("10s")],
  ["clock.advanceTo", ({ clock }) => clock.advanceTo("2026-01-01T00:00:10Z")],
  ["clock.advanceToNext", ({ clock }) => clock.advanceToNext()],
  ["clock.runUntilIdle", ({ clock }) => clock.runUntilIdle()],
  ["clock.advanceUntil", ({ clock, client }) => clock.advanceUntil(client().me.get())],
  ["settle", ({ settle }) => settle()],
];
const forgotten = (name: string) => new RegExp(`^Error: ${name} was not awaited: write await before it`);

test("a call that moves the clock and is not awaited fails the next call, and the test", async () => {
  const nextCalls: readonly ((service: Service, id: string) => unknown)[] = [
    ({ client }, id) => client().deployments.get({ id }),
    ({ fetch }) => fetch("/v1/me"),
    ({ clock }) => clock.advance("1s"),
    ({ settle }) => settle(),
    ({ clock }) => clock.now(),
    ({ inbox }) => inbox.list(),
    ({ journal }) => journal.list(),
    ({ webhooks }) => webhooks.waitFor("*"),
    ({ scenarios }) => scenarios.list(),
    ({ mails }) => mails(),
    ({ keys }) => keys.create({ role: "viewer" }),
    ({ snapshot }) => snapshot(),
    ({ snapshots }) => snapshots.list(),
  ];
  for (const [name, move] of moves)
    for (const next of nextCalls) {
      const { service, id, end } = await wrongTest();
      const moved = move(service);
      await assert.rejects(async () => next(service, id), forgotten(name));
      await moved;
      await service.client().deployments.get({ id }); // told once, and once more at the end
      await assert.rejects(end(), forgotten(name));
    }
});

test("a call that is not awaited by the end of the test fails the test", async () => {
  for (const [name, move] of moves) {
    const { service, end } = await wrongTest();
    const moved = move(service);
    await assert.rejects(end(), forgotten(name));
    await moved;
  }
});

test("a call that somebody waits for beside the test has to settle before the test ends", async () => {
  for (const [name, move] of moves) {
    const { service, end } = await wrongTest();
    const moved = (async () => {
      await move(service);
    })();
    const settled = Promise.allSettled([moved]);
    await assert.rejects(
      end(),
      new RegExp(`^Error: ${name} had not settled when the service closed: await what waits`),
    );
    await settled;
  }
});

test("a call is awaited by await, then, Promise.all and a function that returns it", async () => {
  const { service, end } = await wrongTest();
  const { clock, client } = service;
  /** Calls the service again and again, as a bot beside the test. */
  const bot = async () => {
    for (let calls = 0; calls < 50; calls++) await client().me.get();
  };
  const running = bot();
  await clock.advance("1s");
  await clock.advance("1s").then(() => clock.now());
  await Promise.all([clock.advance("1s"), Promise.resolve()]);
  const wrapped = async () => clock.advance("1s");
  await wrapped();
  await assert.rejects(clock.advance("soon"), /is not a duration/);
  await running;
  assert.equal(clock.now().toISOString(), "2026-01-01T00:00:04.000Z");
  await end();
});

test("an error of a call that nobody awaits is still unhandled", async () => {
  const { service, end } = await wrongTest();
  const moved = service.clock.advance("soon");
  assert.ok(moved instanceof Promise);
  await assert.rejects(moved, /is not a duration/);
  await end();
});

test("faults and scripted answers that never happened are listed, and fail a strict test", async () => {
  const { service, end } = await wrongTest({ strict: true });
  const { faults, inbox, webhooks } = service;
  const match = { method: "DELETE", path: "/v1/projects/*" } as const;
  faults.add({ match, respond: { status: 500 } });
  faults.add({ respond: { status: 503 }, nth: 1_000 });
  faults.add({ match: { path: "/v1/webhooks" }, respond: { headers: { "x-used": "1" } } });
  inbox.script("Hook", [500, 204, { drop: true }]);
  inbox.script("empty", []);
  await service.client().webhooks.create({ url: "https://hook.inbox.test", events: ["deployment.started"] });
  await service.clock.advance("1s");
  await webhooks.waitFor("deployment.started");
  assert.deepEqual(
    faults.unused().map(({ id, used }) => [id, used]),
    [
      ["fault_1", 0],
      ["fault_2", 0],
    ],
  );
  assert.deepEqual(inbox.unused(), [{ endpoint: "hook", responses: [204, { drop: true }] }]);
  for (const unused of [faults.unused, inbox.unused] as ((one: string) => unknown)[])
    assert.throws(() => unused("hook"), { code: "validation_failed", message: /^unused takes no arguments/ });
  await assert.rejects(end(), {
    message:
      'the fault for DELETE /v1/projects/* was never used; the fault for any call was never used; the inbox "hook" never gave the answers [204,{"drop":true}]',
  });
});

test("a fork answers for its own faults and scripts only", withSnapshots, async () => {
  const { service, end } = await wrongTest({ strict: true });
  service.faults.add({ respond: { status: 500 }, nth: 1_000 });
  service.inbox.script("hook", [500]);
  const child = runner("after");
  const fork = await forkTestService(child.t, service);
  assert.deepEqual([fork.faults.unused().length, fork.inbox.unused().length], [1, 1]);
  await child.end();
  const own = runner("after");
  const other = await forkTestService(own.t, service);
  other.faults.add({ match: { method: "PUT" }, respond: { status: 500 } });
  other.inbox.script("hook", [501]);
  await assert.rejects(own.end(), {
    message: 'the fault for PUT was never used; the inbox "hook" never gave the answers [501]',
  });
  service.faults.clear();
  service.inbox.script("hook", []);
  await end();
});
