import assert from "node:assert/strict";
import { test } from "node:test";
import { verifySignature } from "../../lib/index.ts";
import { pathsOf } from "../helpers/deployments.ts";
import { hasSnapshots } from "../helpers/engine.ts";
import { expect, forked, keyOf, type World, world } from "../helpers/test-service.ts";
import { start as receiver } from "../helpers/webhook-receiver.ts";

/** Inboxes that forward to a receiver on this machine. */

const hook = async (here: World, url = "https://shop.inbox.test/in?a=1") =>
  expect(
    await here.call("owner", "POST", "/v1/webhooks", { url, events: ["project.created"], secret: "whsec_demo" }),
    201,
  ).id as string;

const forward = (here: World, to: unknown, name = "shop") =>
  here.call("nobody", "PUT", `/_svc/inbox/${name}`, { forward: to });

const deliveriesOf = async (here: World, id: string) =>
  expect(await here.call("owner", "GET", `/v1/webhooks/${id}/deliveries`), 200).data;

test("a receiver over plain http gets the whole ladder, signed, and its answers are the attempts'", async (t) => {
  const here = await world(t);
  const { url, requests, close } = await receiver(
    (_, response) => response.writeHead(requests.length > 2 ? 204 : 500).end("busy"),
    { plain: true },
  );
  t.after(close);
  const id = await hook(here);
  const answer = expect(await forward(here, `${url}?b=2`, "SHOP"), 200);
  assert.deepEqual([answer.endpoint, answer.forward], ["shop", `${url}?b=2`]);
  await here.project();
  await here.service.clock.advance("3h");
  const [{ status, attempts }] = await deliveriesOf(here, id);
  assert.equal(status, "succeeded");
  assert.deepEqual(
    attempts.map((one: { number: number; status: number; response: string }) => [one.number, one.status, one.response]),
    [
      [1, 500, "busy"],
      [2, 500, "busy"],
      [3, 204, ""],
    ],
  );
  assert.deepEqual(
    requests.map(({ path, headers, body }) => [
      path,
      headers["x-service-attempt"],
      verifySignature("whsec_demo", body, String(headers["x-service-signature"])),
    ]),
    ["1", "2", "3"].map((attempt) => ["/hook?b=2", attempt, true]),
  );
  assert.deepEqual(
    here.service.inbox.list({ endpoint: "shop" }).map((caught) => [caught.url, caught.response]),
    [500, 500, 204].map((answer) => ["https://shop.inbox.test/in?a=1", answer]),
  );
});

test("a receiver that is down fails the attempts, and null ends the forwarding", async (t) => {
  const here = await world(t);
  const { url, close } = await receiver(undefined, { plain: true });
  await close();
  const id = await hook(here);
  here.service.webhooks.sink("shop", () => new Response(null, { status: 202 }));
  here.service.webhooks.forward("shop", url);
  await here.project();
  await here.service.settle();
  assert.equal(expect(await forward(here, null), 200).forward, null);
  await here.service.clock.advance("1m");
  const [{ attempts }] = await deliveriesOf(here, id);
  assert.deepEqual(
    attempts.map((one: { status: number | null }) => one.status),
    [null, 202],
    "then the function answers again",
  );
  assert.match(attempts[0].error, /refused/i);
});

test("https works with the receiver's own certificate, and snapshots and forks forward too", async (t) => {
  const here = await world(t);
  const { url, requests, close } = await receiver();
  t.after(close);
  await hook(here);
  here.service.webhooks.forward("shop", url);
  const all = [here];
  if (hasSnapshots) {
    const { id } = await here.service.snapshot();
    here.service.webhooks.forward("shop", null);
    await here.service.restore(id);
    const fork = await forked(t, here);
    fork.service.webhooks.forward("other", url);
    all.push(fork);
  }
  for (const one of all) {
    await one.project();
    await one.service.settle();
  }
  assert.equal(requests.length, all.length);
});

test("only addresses of this machine are taken", async (t) => {
  const here = await world(t);
  const refused = [
    "https://example.com/hooks",
    "http://10.0.0.1:3000/",
    "http://0.0.0.0:3000/",
    "http://localhost.example.com/",
    "http://127.0.0.1.example.com/",
    "http://[::2]/",
    "ftp://localhost/",
    "http:localhost:3000",
    "localhost:3000",
    "http://user:password@localhost:3000/",
    `http://localhost/${"x".repeat(2048)}`,
    "",
    3000,
    {},
  ];
  for (const to of refused) {
    const answer = expect(await forward(here, to), 422);
    assert.deepEqual([answer.error.code, pathsOf(answer)], ["validation_failed", ["forward"]], String(to));
  }
  for (const to of ["http://localhost:3000", "http://127.8.0.1/", "https://[::1]:1/x?y", "http://app.localhost:3000/"])
    expect(await forward(here, to), 200);
  assert.deepEqual(pathsOf(expect(await forward(here, "http://localhost", "a.b"), 422)), ["name"]);
  const both = { forward: null, responses: [] };
  assert.deepEqual(pathsOf(expect(await here.call("nobody", "PUT", "/_svc/inbox/shop", both), 422)), ["responses"]);
  assert.throws(() => here.service.webhooks.forward("shop", "http://10.0.0.1/"), { name: "Problem" });
});

test("a refused http:// URL names the forwarding, in dev alone", async (t) => {
  const body = { url: "http://localhost:3000/hooks", events: ["*"] };
  const dev = await world(t);
  const answer = expect(await dev.call("owner", "POST", "/v1/webhooks", body), 422);
  assert.match(answer.error.message, /^url must begin with https:\/\/;.*PUT \/_svc\/inbox\/NAME \{"forward":/);
  assert.match(answer.error.details[0].message, /PUT \/_svc\/inbox\/NAME/);
  const client = dev.service.client({ apiKey: keyOf("owner") });
  await assert.rejects(client.webhooks.create({ url: body.url, events: ["*"] }), /inbox\/NAME/);
  const hosted = await world(t, { mode: "start", clock: "real", random: undefined });
  const plain = expect(await hosted.call("owner", "POST", "/v1/webhooks", body), 422);
  assert.equal(plain.error.message, "url must begin with https://");
});
