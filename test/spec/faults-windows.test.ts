import assert from "node:assert/strict";
import { test } from "node:test";
import { keyOf, world } from "../helpers/test-service.ts";

const headers = { authorization: `Bearer ${keyOf("owner")}` };

test("a faulted answer counts in, and shows, the caller's own window", async (t) => {
  const here = await world(t, { rateLimit: 20, addressRateLimit: 10 });
  const windowOf = (response: Response) =>
    ["limit", "remaining"].map((name) => Number(response.headers.get(`x-ratelimit-${name}`)));
  assert.deepEqual(windowOf(await here.service.fetch("/v1/me", { headers })), [20, 19]);
  here.service.faults.add({ match: { path: "/v1/*" }, respond: { status: 503 }, times: 4 });
  assert.deepEqual(windowOf(await here.service.fetch("/v1/me", { headers })), [20, 18]);
  assert.deepEqual(windowOf(await here.service.fetch("/v1/nowhere", { headers })), [20, 17]);
  assert.deepEqual(windowOf(await here.service.fetch("/v1/me")), [10, 9]);
  const wrong = { authorization: "Bearer sk_live_nobody" };
  assert.deepEqual(windowOf(await here.service.fetch("/v1/me", { headers: wrong })), [10, 8]);
  assert.deepEqual(windowOf(await here.service.fetch("/v1/me", { headers })), [20, 16]);
});
