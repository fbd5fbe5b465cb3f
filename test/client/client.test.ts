import assert from "node:assert/strict";
import { test } from "node:test";
import { type ClientOptions, ClientProblem, createClient, verifySignatureAsync } from "../../lib/client.ts";
import { verifySignature } from "../../lib/index.ts";
import { keyOf, type World, world } from "../helpers/test-service.ts";

/** A client of a world, in process; its waits move the standing clock. */
const clientOf = ({ service }: World, more: Partial<ClientOptions> = {}) =>
  createClient({
    baseUrl: "http://localhost/v1",
    apiKey: keyOf("owner"),
    fetch: (url, init) => service.fetch(url, init),
    sleep: (ms) => service.clock.advance(`${ms}ms`),
    ...more,
  });

const git = { type: "git", repo: "acme/web", tag: "v1.4.2" } as const;

/** The client that makes the same calls without HTTP. */
const insideOf = ({ service }: World) => service.client({ apiKey: keyOf("owner") });

const ways = [
  ["flat", "over fetch", clientOf],
  ["full", "over fetch", clientOf],
  ["flat", "inside", insideOf],
  ["full", "inside", insideOf],
] as const;
for (const [envelope, way, made] of ways) {
  test(`calls, pages and waits with the ${envelope} envelope, ${way}`, async (t) => {
    const here = await world(t, { envelope });
    const client = made(here);
    const project = await client.projects.create({ name: "web", region: "eu-west-1" });
    assert.match(project.id, /^proj_/);
    assert.match(project.meta.request_id, /^req_/);
    assert.equal((await client.projects.update({ id: project.id, description: "site" })).description, "site");
    for (const name of ["one", "two", "three", "four"]) await client.projects.create({ name, region: "eu-west-1" });

    const page = await client.projects.list({ per_page: 2 });
    assert.deepEqual([page.data.length, page.meta.per_page], [2, 2]);
    const names: string[] = [];
    for await (const { name } of client.paginate(client.projects.list, { per_page: 2 })) names.push(name);
    assert.deepEqual(names, ["four", "three", "two", "one", "web"]);

    const queued = await client.deployments.create({ project_id: project.id, environment: "production", source: git });
    assert.equal(queued.status, "queued");
    const waiting = client.waitUntilDone("deployments", queued.id);
    await here.service.clock.advance("10s");
    const active = await waiting;
    assert.deepEqual([active.status, active.version, active.source.repo], ["active", "v1.4.2", "acme/web"]);
    assert.ok((await client.deployments.logs({ id: queued.id })).data.length > 0);
    assert.equal((await client.me.get()).user.role, "owner");
    assert.equal(await client.projects.delete({ id: project.id }), undefined);
    assert.equal((await client.openapi.get())["openapi"], "3.1.1");
  });
}

test("a service in this process is reached in one line: its own fetch, and its own key", async (t) => {
  const { service } = await world(t);
  const client = createClient({ baseUrl: "http://localhost/v1", apiKey: service.apiKey, fetch: service.fetch });
  const { id: project_id } = await client.projects.create({ name: "web", region: "eu-west-1" });
  const { id } = await client.deployments.create({ project_id, environment: "production", source: git });
  const entries = client.followLogs(id);
  const first = entries.next();
  await service.clock.advance("1m");
  assert.equal((await first).done, false);
  for await (const { level } of entries) assert.equal(level, "info");
  assert.equal((await client.deployments.get({ id })).status, "active");
  const nobody = createClient({ baseUrl: "http://localhost/v1", apiKey: null, fetch: service.fetch });
  await assert.rejects(nobody.me.get(), (error) => error instanceof ClientProblem && error.code === "unauthorized");
});

test("a log is followed to its end, through connections that break", async (t) => {
  const here = await world(t);
  const { service } = here;
  const { id } = await here.deploy((await here.project()).id);
  const asked: (string | null)[] = [];
  const client = clientOf(here, {
    async fetch(url, init) {
      asked.push(new Headers(init.headers).get("last-event-id"));
      const response = await service.fetch(url, init);
      if (asked.length > 1 || !response.ok) return response;
      // The first connection breaks inside its second entry.
      const text = await response.text();
      return new Response(text.slice(0, text.indexOf("\n\n", text.indexOf("data:")) + 9), response);
    },
  });
  await service.clock.advance("10s");
  const whole = (await here.call("owner", "GET", `/v1/deployments/${id}/logs`)).body.data;
  const followed = [];
  for await (const entry of client.followLogs(id)) followed.push(entry);
  assert.deepEqual(followed, whole);
  assert.equal(asked[0], null);
  assert.ok(asked.length > 1 && asked[1] !== null, "it went on behind what it had");
  await assert.rejects(client.followLogs("dep_unknown").next(), { code: "not_found" });

  const { key } = await service.keys.create({ organization: "acme", role: "viewer" });
  const reader = clientOf(here, { apiKey: key });
  const running = await here.deploy((await here.project("api")).id);
  const entries = reader.followLogs(running.id);
  await entries.next();
  const { id: user_id } = (await reader.me.get()).user;
  await client.users.suspend({ id: user_id });
  await assert.rejects(
    (async () => {
      for await (const _ of entries);
    })(),
    { code: "unauthorized" },
  );
});

test("a refusal is a typed problem, with every broken rule and the request's id", async (t) => {
  const here = await world(t);
  const client = clientOf(here);
  const wrong = await client.projects.create({ name: "x", region: "" }).catch((error: unknown) => error);
  assert.ok(wrong instanceof ClientProblem);
  assert.deepEqual([wrong.status, wrong.code], [422, "validation_failed"]);
  assert.deepEqual(wrong.details.map(({ path }) => path).sort(), ["name", "region"]);
  assert.match(wrong.requestId ?? "", /^req_/);
  await assert.rejects(client.projects.get({ id: "proj_unknown" }), { code: "not_found", status: 404 });
  await assert.rejects(clientOf(here, { apiKey: "sk_live_wrong" }).me.get(), { code: "unauthorized" });
  await assert.rejects(clientOf(here, { apiKey: keyOf("viewer") }).projects.create({ name: "web", region: "a" }), {
    code: "insufficient_role",
  });
});

test("invalid input is refused before anything is sent, and no error shows a key", async (t) => {
  const here = await world(t);
  for (const baseUrl of ["", "/v1", "ftp://a/v1", "http://ada:secret@localhost/v1"])
    assert.throws(() => createClient({ baseUrl }), /baseUrl must be an http or https URL/);
  assert.throws(
    () => clientOf(here, { apiKey: "sk_live_demo_owner\nX-Evil: 1" }),
    (error: Error) => /apiKey must be/.test(error.message) && !error.message.includes("demo_owner"),
  );
  const client = clientOf(here);
  for (const id of ["", ".", ".."])
    await assert.rejects(client.projects.get({ id }), /projects\.get needs id: projects\.get\(\{ id: "proj_…" \}\)/);
  // @ts-expect-error: an operation's fields are known
  await assert.rejects(client.projects.get({}), /needs id/);
  // @ts-expect-error: so are their types
  await assert.rejects(client.projects.create({ name: 42, region: "eu-west-1" }), { code: "validation_failed" });
  // @ts-expect-error: and the operations
  assert.equal(client.projects.explode, undefined);
  await assert.rejects(client.call("projects.explode"), /no operation is called projects.explode/);
  await assert.rejects(client.call("toString"), /no operation is called toString/);
  // An identifier is a single path segment, whatever it contains.
  await assert.rejects(client.projects.get({ id: "../users" }), { code: "not_found" });
});

test("a POST carries an idempotency key: a lost answer does nothing twice", async (t) => {
  const here = await world(t);
  const lost: string[] = [];
  const waits: number[] = [];
  const client = clientOf(here, {
    async fetch(url, init) {
      const response = await here.service.fetch(url, init);
      if (lost.push(url) === 1) throw new TypeError("fetch failed");
      return response;
    },
    sleep: async (ms) => waits.push(ms),
  });
  const project = await client.projects.create({ name: "web", region: "eu-west-1" });
  assert.deepEqual([lost.length, waits], [2, [250]]);
  assert.deepEqual(
    (await client.projects.list()).data.map(({ id }) => id),
    [project.id],
  );

  const same = { idempotencyKey: "mine" };
  const [a, b] = [
    await client.projects.create({ name: "api", region: "a" }, same),
    await client.projects.create({ name: "api", region: "a" }, same),
  ];
  assert.equal(a.id, b.id);
});

test("a retried DELETE succeeds if the lost attempt had deleted the record", async (t) => {
  const here = await world(t);
  const { id } = await here.project();
  let calls = 0;
  const client = clientOf(here, {
    async fetch(url, init) {
      const response = await here.service.fetch(url, init);
      if (++calls === 1) throw new TypeError("fetch failed");
      return response;
    },
  });
  assert.equal(await client.projects.delete({ id }), undefined);
  await assert.rejects(client.projects.delete({ id }), { code: "not_found" });
});

test("a full window is waited for as long as Retry-After says, where that is bearable", async (t) => {
  const here = await world(t, { rateLimit: 2 });
  const waits: number[] = [];
  const sleep = async (ms: number) => {
    waits.push(ms);
    await here.service.clock.advance(`${ms}ms`);
  };
  const patient = clientOf(here, { sleep, longestWait: 600_000 });
  for (let i = 0; i < 3; i++) await patient.me.get();
  assert.deepEqual(waits, [600_000]);
  const hasty = clientOf(here, { sleep });
  await hasty.me.get();
  await assert.rejects(hasty.me.get(), { code: "rate_limited", status: 429, retryAfter: 600 });
  assert.equal(waits.length, 1);
});

test("retries are limited, and a signal ends them at once", async () => {
  const busy = (init: ResponseInit) => async () => new Response("{}", init);
  const waits: number[] = [];
  const options = { baseUrl: "http://localhost/v1", sleep: async (ms: number) => waits.push(ms) };
  await assert.rejects(createClient({ ...options, fetch: busy({ status: 503 }) }).me.get(), { status: 503 });
  assert.deepEqual(waits, [250, 500, 1000]);
  const asked = createClient({ ...options, fetch: busy({ status: 503, headers: { "retry-after": "5" } }) });
  await assert.rejects(asked.me.get(), { status: 503, retryAfter: 5 });
  assert.deepEqual(waits.slice(3), [5000, 5000, 5000]);
  await assert.rejects(createClient({ ...options, fetch: busy({ status: 500 }) }).me.get(), { status: 500 });
  assert.equal(waits.length, 6, "a fault of the service is not tried again");

  const ending = new AbortController();
  const sleep = async () => ending.abort(new Error("enough"));
  const ended = createClient({ ...options, fetch: busy({ status: 503 }), sleep });
  await assert.rejects(ended.me.get({}, { signal: ending.signal }), /enough/);
});

test("a receiver without Node checks signatures as one with it", async () => {
  const body = '{"event":"project.created"}';
  const right = "sha256=f0b2b5f2";
  const { signatureOf } = await import("../../lib/features/deliveries/signature.ts");
  const signature = signatureOf("whsec_demo", body);
  for (const [secret, text, header] of [
    ["whsec_demo", body, signature],
    ["whsec_demo", body, right],
    ["whsec_demo", `${body} `, signature],
    ["whsec_other", body, signature],
    ["", body, signature],
    ["whsec_demo", body, null],
    ["whsec_demo", body, signature.toUpperCase()],
    ["whsec_demo", body, `${signature}\n`],
  ] as const)
    assert.equal(
      await verifySignatureAsync(secret, text, header),
      verifySignature(secret, text, header),
      String(header),
    );
  assert.ok(await verifySignatureAsync("whsec_demo", new TextEncoder().encode(body), signature));
});
