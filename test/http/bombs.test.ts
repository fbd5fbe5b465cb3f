import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { jsonSchema } from "../../lib/composition/openapi/json-schema.ts";
import { operations } from "../../lib/composition/operations.ts";
import { faults, named } from "../helpers/json-schema.ts";
import { keepAliveClient } from "../helpers/keep-alive-client.ts";
import { read } from "../helpers/openapi-document.ts";
import { all, lines, listeningWorld, open, owner, statusesIn } from "../helpers/raw-sockets.ts";

const mebibyte = 2 ** 20;
const document = read("flat");
const problem = named("#/components/schemas/Problem", document);
const many = (count: number, one: (i: number) => string) => Array.from({ length: count }, (_, i) => one(i)).join(",");

/** Bodies of nearly 1 MiB that are expensive to process. */
const bodies: Readonly<Record<string, string>> = {
  "80,000 fields": `{${many(80_000, (i) => `"k${i}":${i % 10}`)}}`,
  "80,000 fields of one name": `{${many(80_000, () => '"name":"web"')}}`,
  "a key of a megabyte": `{"${"k".repeat(mebibyte - 10)}":1}`,
  "a text of a megabyte": `{"name":"${"x".repeat(mebibyte - 12)}"}`,
  "a text of escapes": `{"name":"${"\\u0000".repeat(170_000)}"}`,
  "a number of a million digits": `{"name":${"9".repeat(mebibyte - 10)}}`,
  "a list of 200,000": `{"name":[${many(200_000, () => "1")}],"events":[${many(100_000, () => '"*"')}]}`.slice(
    0,
    mebibyte,
  ),
  "200,000 events": `{"url":"https://hook.inbox.test","events":[${many(200_000, () => '"*"')}]}`,
  "200,000 wrong events": `{"url":"https://hook.inbox.test","events":[${many(200_000, () => "{}")}]}`,
  "60,000 variables": `{"variables":{${many(60_000, (i) => `"K${i}":"v"`)}}}`,
  "60,000 wrong variables": `{"variables":{${many(60_000, (i) => `"${i}-":{}`)}}}`,
  "200,000 wrong domains": `{"domains":[${many(200_000, () => '"q"')}]}`,
  "60,000 wrong headers": `{"url":"https://hook.inbox.test","events":["*"],"headers":{${many(60_000, (i) => `"k-${i}":1`)}}}`,
  "60,000 inputs": `{"model":"any","prompt":"x",${many(60_000, (i) => `"k${i}":"v"`)}}`,
  prototypes: `{${many(30_000, () => '"__proto__":{"a":1}')}}`,
  "white space": `{"name":${" ".repeat(mebibyte - 12)}1}`,
};

async function bombed(t: TestContext) {
  const here = await listeningWorld(t, { rateLimit: 0 });
  const project = await here.project();
  const client = keepAliveClient(here.port);
  t.after(() => client.close());
  const took: Record<string, number> = {};
  return {
    here,
    project,
    took,
    async ask(name: string, method: string, path: string, body?: string, headers: [string, string][] = []) {
      const before = process.cpuUsage();
      const answer = await client.ask(method, path, {
        headers: [["Authorization", owner.authorization], ["Content-Type", "application/json"], ...headers],
        ...(body !== undefined && { body }),
      });
      const { user, system } = process.cpuUsage(before);
      const ms = Math.round((user + system) / 1000);
      took[name] = Math.max(took[name] ?? 0, ms);
      assert.ok(answer.status < 500, `${name}: ${answer.status}`);
      if (answer.status >= 400) assert.deepEqual(faults(problem, answer.body, document), [], name);
      // CPU time, including that of this client.
      assert.ok(ms < 1_000, `${name}: ${ms} ms`);
      assert.ok(answer.text.length < mebibyte, `${name} is answered with ${answer.text.length} characters`);
      return answer;
    },
  };
}

test("bodies of a megabyte that cost much take little of the processor, and are answered briefly", async (t) => {
  const { ask, project, took } = await bombed(t);
  const paths = [
    ["POST", "projects"],
    ["POST", "webhooks"],
    ["POST", "generations"],
    ["PUT", `projects/${project.id}/environments/production`],
  ] as const;
  for (const [name, body] of Object.entries(bodies)) {
    assert.ok(body.length <= mebibyte, `${name} has ${body.length} bytes`);
    for (const [method, path] of paths) await ask(name, method, `/v1/${path}`, body);
  }
  t.diagnostic(JSON.stringify(took));
});

type Json = Readonly<Record<string, unknown>>;

/** The places in a body where a list or a map may be, as functions that put a value there. */
function places(schema: Json): ((value: unknown) => unknown)[] {
  const {
    $ref,
    anyOf = [],
    oneOf = [],
    properties = {},
  } = schema as Readonly<Record<string, Json[]>> & {
    readonly $ref?: string;
    readonly properties?: Readonly<Record<string, Json>>;
  };
  if ($ref) return places(named($ref, document) as Json);
  const inside = Object.entries(properties).flatMap(([name, property]) =>
    places(property).map((put) => (value: unknown) => ({ [name]: put(value) })),
  );
  const isOpen = schema["type"] === "array" || typeof schema["additionalProperties"] === "object";
  return [...(isOpen ? [(value: unknown) => value] : []), ...inside, ...[...anyOf, ...oneOf].flatMap(places)];
}

test("of a list or a map that is too long, nothing else is checked", async (t) => {
  const here = await listeningWorld(t, { rateLimit: 0 });
  const wrong = {
    list: Array.from({ length: 100_000 }, () => ({})),
    map: Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`?${i}`, 1])),
  };
  let tried = 0;
  for (const { id, method, path, body } of operations) {
    if (!body) continue;
    const schema = jsonSchema(body);
    const { type } = schema["properties"] as { type?: { enum?: string[] } };
    for (const put of places(schema))
      for (const kind of type?.enum ?? [undefined])
        for (const value of Object.values(wrong)) {
          const given = { ...(kind && { type: kind }), ...(put(value) as object) };
          const answer = await here.call("owner", method, `/v1${path}`, given);
          const [, more = "0"] = /and (\d+) more error/.exec(answer.body.error?.message) ?? [];
          assert.ok(Number(more) < 1_000, `${id} ${kind}: ${answer.body.error?.message.slice(0, 200)}`);
          tried += 1;
        }
  }
  assert.ok(tried > 30, `${tried} bodies`);
  const { id } = (await here.call("owner", "POST", "/v1/projects", { name: "web", region: "eu" })).body;
  for (const [method, path, given] of [
    ["POST", "/v1/webhooks", { url: "https://hook.inbox.test", events: wrong.map }],
    ["POST", "/v1/api-keys", { name: "ci", scopes: wrong.map }],
    ["PUT", `/v1/projects/${id}/environments/production`, { domains: wrong.map }],
  ] as const) {
    const { status, body } = await here.call("owner", method, path, given);
    assert.equal(status, 422, path);
    assert.match(body.error.message, /must be a list/, "an object with many fields is no list");
  }
});

test("long queries, paths and lists of headers take little of the processor", async (t) => {
  const { ask, took } = await bombed(t);
  const long = 12_000;
  const list = "/v1/deployments";
  await ask("parameters", "GET", `${list}?${"a&".repeat(long / 2)}`);
  await ask("one parameter again and again", "GET", `${list}?${"status=x&".repeat(long / 9)}`);
  await ask("a long parameter", "GET", `${list}?cursor=${"x".repeat(long)}`);
  await ask("a parameter of escapes", "GET", `${list}?environment=${"%25".repeat(long / 3)}`);
  await ask("events of a stream", "GET", `/v1/stream?events=${"deployment.queued,".repeat(long / 18)}`);
  await ask("a path of slashes", "GET", `/v1${"/".repeat(long)}`);
  await ask("a path of dots", "GET", `/v1${"/..".repeat(long / 3)}`);
  await ask("a path of escapes", "GET", `/v1/projects/${"%252525".repeat(long / 7)}`);
  await ask("a path of many parts", "GET", `/v1${"/projects".repeat(long / 9)}`);
  const short = Array.from({ length: 900 }, (_, i): [string, string] => [`x${i.toString(36)}`, ""]);
  assert.equal((await ask("headers", "GET", "/v1/me", undefined, short)).status, 200);
  const forwarded: [string, string] = ["X-Forwarded-For", "1.2.3.4,".repeat(1_000)];
  assert.equal((await ask("a long list in a header", "GET", "/v1/me", undefined, [forwarded])).status, 200);
  t.diagnostic(JSON.stringify(took));
});

test("a thousand connections at once are each answered", async (t) => {
  const here = await listeningWorld(t, { rateLimit: 0 });
  const sockets = await Promise.all(Array.from({ length: 1_000 }, () => open(here.port)));
  const answers = sockets.map(all);
  for (const socket of sockets) socket.write(lines("GET /v1/me HTTP/1.1", "Host: localhost", "Connection: close"));
  const statuses = (await Promise.all(answers)).flatMap(statusesIn);
  assert.deepEqual([statuses.length, new Set(statuses)], [1_000, new Set([200])]);
});

test("20,000 random keys leave nothing behind in memory", async (t) => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const here = await listeningWorld(t, { addressRateLimit: 0 });
  const client = keepAliveClient(here.port);
  t.after(() => client.close());
  let sent = 0;
  const flood = async (count: number) => {
    for (let i = 0; i < count; i += 100) {
      const answers = Array.from({ length: 100 }, () =>
        client.ask("GET", "/v1/me", { headers: [["Authorization", `Bearer sk_live_${"x".repeat(90)}${sent++}`]] }),
      );
      for (const { status } of await Promise.all(answers)) assert.equal(status, 401);
    }
    // One collection is not enough: objects with finalizers or weak references go only with the next.
    const heaps: number[] = [];
    for (let i = 0; i < 5; i++) {
      collect();
      await new Promise((done) => setImmediate(done));
      heaps.push(process.memoryUsage().heapUsed);
    }
    return Math.min(...heaps);
  };
  // The page of requests keeps the last 10,000.
  const before = await flood(10_000);
  const grown = (await flood(20_000)) - before;
  // If kept, each would take at least 100 bytes.
  assert.ok(grown < 1_000_000, `${grown} bytes`);
});
