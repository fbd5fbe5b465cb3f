import assert from "node:assert/strict";
import { test } from "node:test";
import type { Cancellation } from "../../lib/http/limits/cancellation.ts";
import { createFairShares } from "../../lib/http/limits/fair-shares.ts";
import { Problem } from "../../lib/kernel/errors.ts";
import { yieldToEventLoop } from "../../lib/kernel/node/event-loop.ts";
import { mockTime } from "../helpers/mock-time.ts";
import { keyOf, type World, world } from "../helpers/test-service.ts";

const { charge, acquire, waitForTurn, work } = createFairShares();

test("an organization sends 10,000 entries at once, then 10 a millisecond, in order; others do not wait", async (t) => {
  mockTime(t, { apis: ["setTimeout", "Date"], now: 1_000 });
  for (let i = 0; i < 10_000; i++) assert.equal(acquire("org_a"), undefined);
  const order: number[] = [];
  const late = Array.from({ length: 300 }, (_, i) => acquire("org_a")?.then(() => order.push(i)));
  assert.equal(late.includes(undefined), false);
  assert.equal(acquire("org_b"), undefined);
  assert.equal(createFairShares().acquire("org_a"), undefined, "an organization of another service may have its id");
  const pass = async (ms: number) => {
    t.mock.timers.tick(ms);
    await yieldToEventLoop();
    return order.length;
  };
  assert.equal(await pass(19), 0);
  assert.equal(await pass(1), 200);
  assert.notEqual(acquire("org_a"), undefined, "a later caller waits behind the earlier ones");
  assert.equal(await pass(20), 300);
  assert.deepEqual(
    order,
    late.map((_, i) => i),
  );
});

test("an entry of more than 1,000 characters counts as several", async (t) => {
  mockTime(t, { apis: ["setTimeout", "Date"], now: 5_000 });
  assert.equal(acquire("org_c"), undefined);
  charge("org_c", 9_998, 9_998_000);
  assert.equal(acquire("org_c"), undefined);
  charge("org_c", 1, 1_000_000);
  let isDone = false;
  const late = acquire("org_c")?.then(() => {
    isDone = true;
  });
  t.mock.timers.tick(80);
  await yieldToEventLoop();
  assert.equal(isDone, false);
  for (let passed = 80; passed < 120; passed += 20) {
    t.mock.timers.tick(20);
    await yieldToEventLoop();
  }
  assert.equal(isDone, true);
  await late;
});

const wanted = (control = new AbortController()) => {
  const { signal } = control;
  const cancellation: Cancellation = { signal, count: () => signal, check: () => {}, end: () => control.abort() };
  return () => cancellation;
};

test("work of more than 20 ms is alone in its tick, and short work is not", async (t) => {
  mockTime(t, { apis: ["setTimeout", "Date"], now: 9_000 });
  let tick = 0;
  const worked: Record<string, number[]> = { org_d: [], org_e: [] };
  const all: Promise<void>[] = [];
  const arrive = async (account: string, ms: number) => {
    const turn = waitForTurn(account, wanted());
    if (turn !== undefined) await turn;
    work(account, () => t.mock.timers.tick(ms));
    worked[account]?.push(tick);
  };
  // The bodies of connections end in callbacks of their own, but in one tick.
  for (let i = 0; i < 6; i++) {
    setImmediate(() => all.push(arrive("org_d", 30)));
    setImmediate(() => all.push(arrive("org_e", 1)));
  }
  for (; (worked["org_d"]?.length ?? 0) < 6; tick++) await yieldToEventLoop();
  await Promise.all(all);
  assert.equal(new Set(worked["org_d"]).size, 6, `in the ticks ${worked["org_d"]}`);
  assert.equal(new Set(worked["org_e"]).size, 1, `in the ticks ${worked["org_e"]}`);
});

test("who waits begins one by one; who leaves goes at once, and lets nobody overtake", async (t) => {
  mockTime(t, { apis: ["setTimeout", "Date"], now: 20_000 });
  // 600 ms of work, of which 500 are ahead.
  work("org_f", () => t.mock.timers.tick(600));
  await yieldToEventLoop();
  let tick = 0;
  const begun: (readonly [string, number])[] = [];
  const leaving = new AbortController();
  const arrive = async (name: string, control?: AbortController) => {
    await waitForTurn("org_f", wanted(control));
    begun.push([name, tick]);
  };
  const first = arrive("first");
  const left = arrive("left", leaving);
  const late = [arrive("second"), arrive("third")];
  leaving.abort();
  await assert.rejects(left, Problem);
  assert.equal(begun.length, 0);
  for (let passed = 0; passed < 300; passed += 20) {
    t.mock.timers.tick(20);
    await yieldToEventLoop();
    tick++;
  }
  await Promise.all([first, ...late]);
  assert.deepEqual(
    begun.map(([name]) => name),
    ["first", "second", "third"],
  );
  assert.equal(new Set(begun.map(([, at]) => at)).size, 3);
  assert.equal(waitForTurn("org_f", wanted()), undefined, "nobody waits once the account has time again");
});

test("a client that leaves behind others has no turn, even if its turn would come at once", async (t) => {
  mockTime(t, { apis: ["setTimeout", "Date"], now: 40_000 });
  work("org_g", () => t.mock.timers.tick(30));
  const leaving = new AbortController();
  const before = waitForTurn("org_g", wanted());
  const left = waitForTurn("org_g", wanted(leaving));
  assert.ok(before && left);
  const refused = assert.rejects(left, Problem);
  await before;
  leaving.abort();
  await refused;
});

test("a service is not slowed down by its twin, whose ids are equal", async (t) => {
  mockTime(t, { apis: ["setTimeout", "Date"], now: 60_000 });
  const logs = Array.from({ length: 6_000 }, () => ({ level: "info", message: "a line" }) as const);
  const [one, twin] = await Promise.all([world(t), world(t)]);
  const followed = async ({ service, project, deploy }: World) => {
    service.scenarios.next("deployment", { result: "succeed", logs });
    const { id } = await deploy((await project()).id);
    await service.clock.advance("1m");
    const headers = { authorization: `Bearer ${keyOf("owner")}` };
    return async () => (await service.fetch(`/v1/deployments/${id}/logs?follow=true`, { headers })).text();
  };
  const [read, readTwin] = [await followed(one), await followed(twin)];
  const text = await read();
  let isRead = false;
  const late = read().then(() => {
    isRead = true;
  });
  assert.equal(await readTwin(), text);
  assert.equal(isRead, false, "the service itself is past its 10,000 entries");
  t.mock.timers.tick(1_000);
  await late;
});
