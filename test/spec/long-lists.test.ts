import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { logOf, withOutcomes } from "../helpers/deployments.ts";
import { mockTime } from "../helpers/mock-time.ts";
import { expect, keyOf, type World, world } from "../helpers/test-service.ts";

/** A service with a deployment whose log has 1,000 lines and a few of the deployment's own. */
async function withLog(t: TestContext, options: Parameters<typeof world>[1] = {}) {
  const logs = Array.from({ length: 1_000 }, (_, i) => ({ level: "info", message: `line ${i}` }) as const);
  const here = await world(t, { ...withOutcomes(() => ({ logs })), ...options });
  const { id } = await here.deploy((await here.project()).id);
  await here.service.clock.advance("6s");
  return { here, id, path: `/v1/deployments/${id}/logs` };
}

async function opened({ service }: World, path: string, who: Parameters<typeof keyOf>[0] = "viewer") {
  const response = await service.fetch(path, { headers: { authorization: `Bearer ${keyOf(who)}` } });
  assert.equal(response.status, 200);
  const reader = response.body?.getReader();
  assert.ok(reader);
  return { response, reader };
}

const tick = () => new Promise((resolve) => setImmediate(resolve));

for (const envelope of ["flat", "full"] as const)
  test(`a long log is read as its client takes it, with the envelope ${envelope}`, async (t) => {
    const { here, id, path } = await withLog(t, { envelope });
    const whole = await logOf(here, id);
    const { response, reader } = await opened(here, path);
    assert.equal(response.headers.get("content-type"), "application/json");
    const decoder = new TextDecoder();
    const parts: string[] = [];
    for (let part = await reader.read(); !part.done; part = await reader.read()) parts.push(decoder.decode(part.value));
    assert.ok(parts.length >= whole.length / 128, `${parts.length} parts`);
    const { data, meta, pagination } = JSON.parse(parts.join(""));
    assert.deepEqual(data, whole);
    const { length } = whole;
    if (envelope === "flat") assert.deepEqual([meta.per_page, meta.next_cursor], [length, null]);
    else assert.deepEqual(pagination, { total: length, page: 1, per_page: length, next_cursor: null });
    assert.equal(meta.request_id, response.headers.get("x-request-id"));
  });

test("a long page leads to the next one, and both together are the whole", async (t) => {
  const { here, id, path } = await withLog(t);
  const whole = await logOf(here, id);
  const first = expect(await here.call("viewer", "GET", `${path}?per_page=700`), 200);
  assert.equal(first.data.length, 700);
  const cursor = encodeURIComponent(first.meta.next_cursor);
  const second = expect(await here.call("viewer", "GET", `${path}?per_page=700&cursor=${cursor}`), 200);
  assert.deepEqual([...first.data, ...second.data], whole);
  assert.equal(second.meta.next_cursor, null);
});

test("a revoked key reads no more of a long log", async (t) => {
  const { here, path } = await withLog(t);
  const made = expect(
    await here.call("owner", "POST", "/v1/api-keys", { name: "short", scopes: ["deployments:read"] }),
    201,
  );
  const response = await here.service.fetch(path, { headers: { authorization: `Bearer ${made.key}` } });
  const reader = response.body?.getReader();
  assert.ok(reader);
  assert.equal((await reader.read()).done, false);
  expect(await here.call("owner", "DELETE", `/v1/api-keys/${made.id}`), 204);
  await assert.rejects(async () => {
    while (!(await reader.read()).done);
  }, /the rest of the list is not sent: the API key was revoked/);
});

test("a client that reads nothing of a long log for half a minute is dropped", async (t) => {
  const { here, path } = await withLog(t);
  mockTime(t, { apis: ["setTimeout"] });
  const { reader } = await opened(here, path);
  await reader.read();
  await tick();
  t.mock.timers.tick(30_000);
  await assert.rejects(async () => {
    while (!(await reader.read()).done);
  }, /read nothing for half a minute/);
});

test("four long lists of an organization are read at once; others wait for one of them, and those of others do not", async (t) => {
  const { here, id, path } = await withLog(t);
  const running = await Promise.all(Array.from({ length: 4 }, () => opened(here, path)));
  let isAnswered = false;
  const fifth = opened(here, path).then((answer) => {
    isAnswered = true;
    return answer;
  });
  expect(await here.call("stranger", "GET", "/v1/users"), 200);
  for (let i = 0; i < 20; i++) await tick();
  assert.equal(isAnswered, false);
  await running[0]?.reader.cancel();
  const { reader } = await fifth;
  for (const one of running.slice(1)) await one.reader.cancel();
  await reader.cancel();
  assert.ok((await logOf(here, id)).length > 1_000);
});

test("a service that closes ends the long lists that run and those that wait", async (t) => {
  const { here, path } = await withLog(t);
  const running = await Promise.all(Array.from({ length: 4 }, () => opened(here, path)));
  const fifth = here.service.fetch(path, { headers: { authorization: `Bearer ${keyOf("viewer")}` } });
  await tick();
  await here.service.close();
  assert.equal((await fifth).status, 503);
  for (const { reader } of running)
    await assert.rejects(async () => {
      while (!(await reader.read()).done);
    }, /shutting down/);
});

test("environments come in batches, in their order", async (t) => {
  const here = await world(t);
  const { id } = await here.project();
  const names = Array.from({ length: 11 }, (_, i) => `stage-${String(i).padStart(2, "0")}`);
  const value = "v".repeat(32_000);
  const variables = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`V${i}`, value]));
  for (const name of names)
    expect(await here.call("owner", "PUT", `/v1/projects/${id}/environments/${name}`, { variables }), 200);
  const path = `/v1/projects/${id}/environments`;
  const { data, meta } = expect(await here.call("owner", "GET", path), 200);
  const all = data.map(({ name }: { name: string }) => name);
  assert.deepEqual(
    all.filter((name: string) => name.startsWith("stage-")),
    names,
  );
  assert.deepEqual([meta.per_page, meta.next_cursor], [all.length, null]);
  const page = expect(await here.call("owner", "GET", `${path}?per_page=7`), 200);
  const rest = expect(
    await here.call("owner", "GET", `${path}?per_page=7&cursor=${encodeURIComponent(page.meta.next_cursor)}`),
    200,
  );
  assert.deepEqual([...page.data, ...rest.data], data);
});
