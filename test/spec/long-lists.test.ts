import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { get, type IncomingMessage } from "node:http";
import { type TestContext, test } from "node:test";
import { logOf, withOutcomes } from "../helpers/deployments.ts";
import { mockTime } from "../helpers/mock-time.ts";
import { expect, keyOf, type World, world } from "../helpers/test-service.ts";
import { until } from "../helpers/until.ts";

/** A service with a deployment whose log has nearly 8 MiB: more than sockets hold for a client that does not read. */
async function withLog(t: TestContext, options: Parameters<typeof world>[1] = {}) {
  const logs = Array.from(
    { length: 1_000 },
    (_, i) => ({ level: "info", message: `line ${i} ${"of the build ".repeat(600)}` }) as const,
  );
  const here = await world(t, { ...withOutcomes(() => ({ logs })), ...options });
  const { id } = await here.deploy((await here.project()).id);
  await here.service.clock.advance("6s");
  return { here, id, path: `/v1/deployments/${id}/logs` };
}

/** Answers with their bodies unread, over HTTP. */
async function listening({ service }: World) {
  const { port } = await service.listen({ port: 0 });
  return (path: string, key = keyOf("viewer")) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { authorization: `Bearer ${key}` };
      get({ port, path, headers, agent: false }, (response) => {
        if (response.statusCode === 200) return resolve(response);
        response.destroy();
        reject(new Error(String(response.statusCode)));
      }).on("error", reject);
    });
}

const read = async (response: IncomingMessage) => JSON.parse((await response.toArray()).join(""));

for (const envelope of ["flat", "full"] as const)
  test(`a long log comes in parts, with the envelope ${envelope}`, async (t) => {
    const { here, id, path } = await withLog(t, { envelope });
    const whole = await logOf(here, id);
    const response = await (await listening(here))(path);
    assert.equal(response.headers["content-type"], "application/json");
    assert.equal(response.headers["content-length"], undefined);
    const { data, meta, pagination } = await read(response);
    assert.deepEqual(data, whole);
    const { length } = whole;
    if (envelope === "flat") assert.deepEqual([meta.per_page, meta.next_cursor], [length, null]);
    else assert.deepEqual(pagination, { total: length, page: 1, per_page: length, next_cursor: null });
    assert.equal(meta.request_id, response.headers["x-request-id"]);
  });

test("a long page leads to the next one, and both together are the whole", async (t) => {
  const { here, id, path } = await withLog(t);
  const whole = await logOf(here, id);
  const open = await listening(here);
  const first = await read(await open(`${path}?per_page=700`));
  assert.equal(first.data.length, 700);
  const second = await read(await open(`${path}?per_page=700&cursor=${encodeURIComponent(first.meta.next_cursor)}`));
  assert.deepEqual([...first.data, ...second.data], whole);
  assert.equal(second.meta.next_cursor, null);
});

test("a revoked key reads no more of a long log", async (t) => {
  const { here, path } = await withLog(t);
  const body = { name: "short", scopes: ["deployments:read"] };
  const made = expect(await here.call("owner", "POST", "/v1/api-keys", body), 201);
  const response = await (await listening(here))(path, made.key);
  expect(await here.call("owner", "DELETE", `/v1/api-keys/${made.id}`), 204);
  await assert.rejects(read(response), /aborted/);
});

test("a client that reads nothing of a long log for half a minute is dropped", async (t) => {
  const reasons: unknown[] = [];
  const write = (_: string, { reason }: { readonly reason?: unknown } = {}) => void reasons.push(reason);
  const logger = { error: write, warn: write, info: write, debug: write };
  const { here, path } = await withLog(t, { logger });
  const open = await listening(here);
  mockTime(t, { apis: ["setTimeout"] });
  // Small steps: a query of PostgreSQL has a time limit of 30 seconds, too.
  const pass = () => {
    t.mock.timers.tick(5);
    return stat(".");
  };
  // Earlier tests took long lists of the same organization ahead, so the parts of this one wait for turns: a timer each.
  let response: IncomingMessage | undefined;
  const opened = open(path).then((one) => {
    response = one;
    return one;
  });
  await until(() => response, pass);
  const dropped = "its client read nothing for half a minute";
  await until(() => reasons.includes(dropped), pass);
  await assert.rejects(opened.then(read), /aborted/);
});

test("a user reads four long logs at once, and the fifth waits; other lists, users and organizations do not", async (t) => {
  const { here, id, path } = await withLog(t);
  const open = await listening(here);
  const running = await Promise.all(Array.from({ length: 4 }, () => open(path)));
  let isAnswered = false;
  const fifth = open(path).then((answer) => {
    isAnswered = true;
    return answer;
  });
  for (let i = 0; i < 5; i++) await read(await open("/v1/users", keyOf("stranger")));
  await read(await open("/v1/users"));
  await read(await open(path, keyOf("owner")));
  assert.equal(isAnswered, false);
  running.shift()?.destroy();
  assert.deepEqual((await read(await fifth)).data, await logOf(here, id));
  for (const response of running) response.destroy();
});

test("a server that closes sends the long lists that it began, and refuses those that wait", async (t) => {
  const { here, id, path } = await withLog(t);
  const whole = await logOf(here, id);
  const open = await listening(here);
  const running = await Promise.all(Array.from({ length: 4 }, () => open(path)));
  const refused = assert.rejects(open(path), /503/);
  for (let i = 0; i < 5; i++) await read(await open("/v1/users", keyOf("stranger")));
  const closed = here.service.close();
  await refused;
  for (const response of running) assert.deepEqual((await read(response)).data, whole);
  await closed;
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

test("generations with long inputs come in parts, in their order and whole, like the others", async (t) => {
  const here = await world(t);
  const sizes = [10, 8_000, 8_200, 300_000, 20, 600_000, 600_000, 30, 8_192, 40, 50, 400_000];
  const made = [];
  for (const [i, size] of sizes.entries()) {
    const body = { model: "someone/any", prompt: `number ${i}`, image: "i".repeat(size) };
    made.unshift(expect(await here.call("owner", "POST", "/v1/generations", body), 201).id);
  }
  const open = await listening(here);
  for (const per_page of [5, 12]) {
    const data = [];
    let cursor = "";
    do {
      const response = await open(`/v1/generations?per_page=${per_page}${cursor}`);
      if (cursor === "") assert.equal(response.headers["content-length"], undefined);
      const page = await read(response);
      data.push(...page.data);
      cursor = page.meta.next_cursor && `&cursor=${encodeURIComponent(page.meta.next_cursor)}`;
    } while (cursor);
    assert.deepEqual(
      data.map(({ id }) => id),
      made,
    );
    assert.deepEqual(data.map(({ input }) => input.image.length).reverse(), sizes);
    const { data: whole } = expect(await here.call("owner", "GET", `/v1/generations?per_page=${per_page}`), 200);
    assert.deepEqual(whole, data.slice(0, per_page));
  }
});
