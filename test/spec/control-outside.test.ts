import assert from "node:assert/strict";
import { test } from "node:test";
import { createOutbound } from "../../lib/drivers/outbound/outbound.ts";
import { expect, type World, world } from "../helpers/test-service.ts";
import { start as receiver } from "../helpers/webhook-receiver.ts";

/** CONTRACT section 8: "In `dev` nothing leaves for the world by accident". These tests send nothing out either. */

const outsideUrl = "https://203.0.113.7/hook";

const hook = async (here: World, url: string) =>
  expect(await here.call("owner", "POST", "/v1/webhooks", { url, events: ["project.created"] }), 201).id as string;

test("a delivery to a public address is caught under its host, answered 200, and logged once", async (t) => {
  const warnings: string[] = [];
  const none = () => {};
  const warn = (message: string) => void warnings.push(message);
  const here = await world(t, { logger: { error: none, info: none, debug: none, warn } });
  const id = await hook(here, outsideUrl);
  const config = { url: "https://[2001:db8::1]:8443/x" };
  expect(await here.call("owner", "POST", "/v1/integrations", { type: "custom", config }), 201);
  for (const name of ["one", "two"]) await here.project(name);
  await here.service.settle();
  const caught = expect(await here.call("nobody", "GET", "/_svc/inbox?endpoint=203.0.113.7"), 200).data;
  assert.deepEqual(
    caught.map((one: { url: string; response: number }) => [one.url, one.response]),
    [
      [outsideUrl, 200],
      [outsideUrl, 200],
    ],
  );
  assert.equal(here.service.inbox.list({ endpoint: "[2001:db8::1]" })[0]?.url, config.url);
  const [{ status, attempts }] = expect(await here.call("owner", "GET", `/v1/webhooks/${id}/deliveries`), 200).data;
  assert.deepEqual([status, attempts[0].status, attempts[0].error], ["succeeded", 200, null]);
  const arrived = await here.service.webhooks.waitFor("project.created", { endpoint: "203.0.113.7" });
  assert.equal(arrived.response, 200);
  const said = warnings.filter((message) => message.includes("203.0.113.7"));
  assert.equal(said.length, 1, warnings.join("\n"));
  assert.match(said[0] ?? "", /caught in the inbox.*--send \(option outbound\.send\)/);
});

test("outbound.send lets deliveries out, and start has nothing to hold back", async (t) => {
  const sending = await world(t, { outbound: { send: true } });
  const body = { url: outsideUrl, events: ["*"] };
  const refused = expect(await sending.call("owner", "POST", "/v1/webhooks", body), 422);
  assert.match(refused.error.message, /public, private or loopback/, "the rules of a sent delivery hold");
  const start = { mode: "start", clock: "real", random: undefined } as const;
  for (const send of [true, false])
    await assert.rejects(
      world(t, { ...start, outbound: { send } }),
      /outbound\.send is for the mode dev; start sends every/,
    );
});

test("loopback is reached as ever, and link-local addresses stay closed", async (t) => {
  const here = await world(t);
  const { url, requests, close } = await receiver();
  t.after(close);
  await hook(here, url);
  await here.project();
  await here.service.settle();
  assert.equal(requests.length, 1);
  assert.deepEqual(here.service.inbox.list(), []);
  const metadata = { url: "https://169.254.169.254/", events: ["*"] };
  expect(await here.call("owner", "POST", "/v1/webhooks", metadata), 422);
});

test("a name is judged by the addresses that it resolves to", async (t) => {
  const { port, requests, close } = await receiver();
  t.after(close);
  const names: Record<string, () => Promise<readonly string[]>> = {
    "public.test": async () => ["203.0.113.7"],
    "mixed.test": async () => ["203.0.113.7", "127.0.0.1"],
    "local.test": async () => ["127.0.0.1"],
    "closed.test": async () => ["127.0.0.1", "169.254.169.254"],
    "unknown.test": () => Promise.reject(Object.assign(new Error(), { code: "ENOTFOUND" })),
    "slow.test": () => new Promise(() => {}),
  };
  const resolve = (host: string) => (names[host] as () => Promise<readonly string[]>)();
  const outbound = createOutbound({ mode: "dev", confined: true, resolve, timeout: "2s" });
  t.after(() => outbound.close());
  const results = await Promise.all(
    Object.keys(names).map(async (name) => {
      const sent = await outbound.send({ url: `https://${name}:${port}/`, headers: {}, body: "{}" });
      return [name, sent.isOutside ? "caught" : (sent.status ?? sent.error)];
    }),
  );
  assert.deepEqual(Object.fromEntries(results), {
    "public.test": "caught",
    "mixed.test": 200,
    "local.test": 200,
    "closed.test": "address_not_allowed",
    "unknown.test": "caught",
    "slow.test": "caught",
  });
  assert.equal(requests.length, 2);
  assert.equal(await outbound.checkUrl("https://public.test/"), undefined);
  assert.match((await outbound.checkUrl("https://closed.test/")) ?? "", /link-local/);
});
