import assert from "node:assert/strict";
import { test } from "node:test";
import { bearer } from "../helpers/headers.ts";
import { callAs, member, temporary, withMembers } from "../helpers/members.ts";
import { expect, git, type Reply, start, type Who, type World, world } from "../helpers/test-service.ts";

/** The values of the three rate limit headers. */
const rateWindowOf = ({ headers }: Reply) => {
  const [limit, remaining, reset] = ["limit", "remaining", "reset"].map((name) =>
    Number(headers.get(`x-ratelimit-${name}`)),
  );
  return { limit, remaining, reset };
};
const ask = ({ call }: World, who: Who = "viewer") => call(who, "GET", "/v1/me");
const firstReset = Date.parse(start) / 1000 + 600;

const times = async <T>(count: number, run: (i: number) => Promise<T>): Promise<T[]> => {
  const all: T[] = [];
  for (let i = 0; i < count; i++) all.push(await run(i));
  return all;
};
const statuses = (replies: readonly Reply[]) => replies.map(({ status }) => status);

test("X-RateLimit-* are on every response and count down by one a request", async (t) => {
  const { call, project, deploy } = await world(t);
  const { id } = await project();
  const deployment = (await deploy(id)).id;
  const order = { name: "api", region: "eu" };
  let left = 998;
  for (const [method, path, body, status] of [
    ["GET", "/v1/projects", undefined, 200],
    ["HEAD", "/v1/projects", undefined, 200],
    ["POST", "/v1/projects", order, 201],
    ["POST", "/v1/projects", "{", 400],
    ["GET", "/v1/nothing", undefined, 404],
    ["GET", "/v1", undefined, 404],
    ["GET", "/v1/projects/", undefined, 404],
    ["PATCH", "/v1/projects", undefined, 405],
    ["POST", "/v1/projects", order, 409],
    ["POST", "/v1/projects", {}, 422],
    ["POST", `/v1/deployments/${deployment}/cancel`, undefined, 200],
    ["DELETE", `/v1/projects/${id}`, undefined, 204],
  ] as const) {
    left -= 1;
    const reply = await call("owner", method, path, body);
    assert.equal(reply.status, status);
    assert.deepEqual(rateWindowOf(reply), { limit: 1000, remaining: left, reset: firstReset }, `${method} ${path}`);
  }
  const viewer = await call("viewer", "POST", "/v1/projects", order);
  expect(viewer, 403);
  assert.equal(rateWindowOf(viewer).remaining, 999, "each key has a window of its own");
});

test("A key has 1,000 requests a window, even when 2,000 come at once", async (t) => {
  const here = await world(t);
  const replies = await Promise.all(Array.from({ length: 2000 }, () => ask(here)));
  assert.equal(replies.filter(({ status }) => status === 200).length, 1000);
  assert.equal(replies.filter(({ status }) => status === 429).length, 1000);
  const left = replies.filter(({ status }) => status === 200).map((reply) => rateWindowOf(reply).remaining);
  assert.equal(new Set(left).size, 1000, "each of those admitted is told another number");
  expect(await ask(here, "developer"), 200);
});

test("429 tells when to come again, whatever is asked", async (t) => {
  const here = await world(t, { rateLimit: 2 });
  await here.service.clock.advance("1m30s");
  await times(2, () => ask(here));
  const body = { project_id: "proj_1", environment: "production", source: git };
  for (const reply of [
    await ask(here),
    await here.call("viewer", "GET", "/v1/nothing"),
    await here.call("viewer", "POST", "/v1/deployments", body),
    await here.call("viewer", "PATCH", "/v1/projects"),
  ]) {
    assert.equal(expect(reply, 429).error.code, "rate_limited");
    assert.equal(reply.headers.get("retry-after"), "510");
    assert.deepEqual(rateWindowOf(reply), { limit: 2, remaining: 0, reset: firstReset });
  }
  const head = await here.call("viewer", "HEAD", "/v1/me");
  assert.equal(head.status, 429);
});

test("A window lasts ten minutes of the service's clock", async (t) => {
  const here = await world(t, { rateLimit: 3 });
  const { clock } = here.service;
  await times(4, () => ask(here));
  await clock.advance("9m59s");
  await clock.advance("999ms");
  const last = await ask(here);
  expect(last, 429);
  assert.equal(last.headers.get("retry-after"), "1", "never less than a second");
  await clock.advance("1ms");
  const next = await ask(here);
  expect(next, 200);
  assert.deepEqual(rateWindowOf(next), { limit: 3, remaining: 2, reset: firstReset + 600 });
  await clock.advance("25h");
  assert.equal(rateWindowOf(await ask(here)).remaining, 2);
});

test("A key's own limit goes before the service's", async (t) => {
  const seed = withMembers(member("slow", "viewer", { rate_limit: 2 }), member("fast", "viewer", { rate_limit: 50 }));
  const here = await world(t, { seed, rateLimit: 5 });
  const as = (name: string) => () => callAs(here, name, "GET", "/v1/me");
  assert.deepEqual(statuses(await times(3, as("slow"))), [200, 200, 429]);
  const fast = await times(51, as("fast"));
  assert.equal(fast.filter(({ status }) => status === 200).length, 50);
  assert.equal(rateWindowOf(fast[0] as Reply).limit, 50);
  assert.deepEqual(statuses(await times(6, () => ask(here))), [200, 200, 200, 200, 200, 429]);
});

test("Without a valid key the address's window counts, and 429 takes the place of 401", async (t) => {
  const here = await world(t, { addressRateLimit: 4 });
  const { call } = here;
  const wrong = [{}, bearer("sk_live_unknown"), { authorization: "Basic abc" }, bearer("nonsense")];
  for (const [i, headers] of wrong.entries()) {
    const reply = await call("nobody", "GET", i % 2 ? "/v1/me" : "/v1/nothing", undefined, headers);
    expect(reply, 401);
    assert.deepEqual(rateWindowOf(reply), { limit: 4, remaining: 3 - i, reset: firstReset });
  }
  for (const headers of wrong) {
    const reply = await call("nobody", "GET", "/v1/me", undefined, headers);
    assert.equal(expect(reply, 429).error.code, "rate_limited");
    assert.equal(reply.headers.get("retry-after"), "600");
    assert.deepEqual(rateWindowOf(reply), { limit: 4, remaining: 0, reset: firstReset });
  }
  const known = await ask(here);
  expect(known, 200);
  assert.equal(rateWindowOf(known).limit, 1000, "a valid key is counted by itself");
  await here.service.clock.advance("10m");
  expect(await call("nobody", "GET", "/v1/me"), 401);
});

test("An address has 1,000 requests unless the option says otherwise", async (t) => {
  const here = await world(t);
  assert.deepEqual(rateWindowOf(await ask(here, "nobody")), { limit: 1000, remaining: 999, reset: firstReset });
});

test("A path that needs no key counts against the address too", async (t) => {
  const here = await world(t, { addressRateLimit: 2 });
  const accept = () => here.call("nobody", "POST", "/v1/invitations/accept", { token: "guess", name: "Eve" });
  const replies = await times(3, accept);
  assert.deepEqual(statuses(replies), [404, 404, 429], "tokens cannot be guessed for ever");
});

test("A small limit admits exactly as many of 600 at once", async (t) => {
  const here = await world(t, { rateLimit: 7, addressRateLimit: 5 });
  const known = await Promise.all(Array.from({ length: 300 }, () => ask(here)));
  assert.equal(known.filter(({ status }) => status === 200).length, 7);
  const unknown = await Promise.all(Array.from({ length: 300 }, () => ask(here, "nobody")));
  assert.equal(unknown.filter(({ status }) => status === 401).length, 5);
  assert.equal(unknown.filter(({ status }) => status === 429).length, 295);
});

test("Windows are counted across a restart", async (t) => {
  const options = { database: temporary(t), rateLimit: 5, addressRateLimit: 3 };
  const before = await world(t, options);
  await times(3, () => ask(before));
  await times(2, () => ask(before, "nobody"));
  await before.service.close();
  const after = await world(t, options);
  assert.deepEqual(statuses(await times(3, () => ask(after))), [200, 200, 429]);
  assert.deepEqual(statuses(await times(2, () => ask(after, "nobody"))), [401, 429]);
  await after.service.clock.advance("10m");
  assert.equal(rateWindowOf(await ask(after)).remaining, 4);
  await after.service.close();
});

test("Windows that ended before a restart are not counted after it", async (t) => {
  const options = { database: temporary(t), rateLimit: 2 };
  const before = await world(t, options);
  await times(3, () => ask(before));
  await before.service.close();
  const after = await world(t, { ...options, clock: "manual@2026-01-01T00:10:00.000Z" });
  assert.deepEqual(statuses(await times(3, () => ask(after))), [200, 200, 429]);
  await after.service.close();
});

test("0 is no limit, of the service, of an address and of a key, and its numbers stay", async (t) => {
  const seed = withMembers(member("free", "viewer", { rate_limit: 0 }), member("slow", "viewer", { rate_limit: 2 }));
  const unlimited = { limit: 1_000_000_000, remaining: 1_000_000_000, reset: firstReset };
  const here = await world(t, { seed, rateLimit: 0, addressRateLimit: 0 });
  for (const reply of [...(await times(3, () => ask(here))), ...(await times(2, () => ask(here, "nobody")))])
    assert.deepEqual(rateWindowOf(reply), unlimited);
  assert.deepEqual(statuses(await times(3, () => callAs(here, "slow", "GET", "/v1/me"))), [200, 200, 429]);
  const limited = await world(t, { seed, rateLimit: 1 });
  for (const reply of await times(3, () => callAs(limited, "free", "GET", "/v1/me")))
    assert.deepEqual(rateWindowOf(reply), unlimited);
  await assert.rejects(world(t, { rateLimit: -1 }), /rateLimit must be a whole number from 0/);
});

test("429 on a manual clock says that the clock does not run, and how to advance it", async (t) => {
  const here = await world(t, { rateLimit: 1 });
  const [, reply] = await times(2, () => ask(here));
  const { message } = expect(reply as Reply, 429).error;
  const moves = "advance it by 600 seconds (service.clock.advance, POST /_svc/clock/advance), or raise the limit";
  assert.equal(message, `the 1 requests of this window are used up; the clock does not run, so ${moves}`);
});
