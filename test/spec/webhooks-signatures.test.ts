import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { type TestContext, test } from "node:test";
import { Webhook } from "standardwebhooks";
import { verifySignatureAsync } from "../../lib/client.ts";
import { verifySignature, verifyStandardWebhook } from "../../lib/index.ts";
import { expect, type World, world } from "../helpers/test-service.ts";

/** The request that a signed webhook receives for a new project. */
async function delivered(here: World, secret = "whsec_demo") {
  const requests: { headers: Headers; body: Uint8Array }[] = [];
  here.service.webhooks.sink("hook", async (request) => {
    requests.push({ headers: request.headers, body: new Uint8Array(await request.arrayBuffer()) });
    return new Response(null, { status: 204 });
  });
  const hook = { url: "https://hook.inbox.test/in", events: ["*"], secret };
  expect(await here.call("owner", "POST", "/v1/webhooks", hook), 201);
  await here.project("wëb ✓");
  await here.service.settle();
  const [first] = requests;
  assert.ok(first);
  return first;
}

const signatureOf = (secret: string, body: Uint8Array) =>
  `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;

test("a receiver verifies a delivery with verifySignature, which refuses any change", async (t) => {
  const { headers, body } = await delivered(await world(t));
  const signature = headers.get("x-service-signature");
  assert.ok(verifySignature("whsec_demo", body, signature));
  assert.ok(verifySignature("whsec_demo", Buffer.from(body).toString("utf8"), signature));
  for (const wrong of [
    null,
    undefined,
    "",
    "sha256=",
    signature?.slice(0, -1),
    signature?.toUpperCase(),
    `${signature}0`,
  ]) {
    assert.ok(!verifySignature("whsec_demo", body, wrong));
  }
  assert.ok(!verifySignature("whsec_other", body, signature));
  assert.ok(!verifySignature("", body, signature));
  assert.ok(!verifySignature("whsec_demo", Buffer.concat([body, Buffer.from(" ")]), signature));
});

test("both checks take bodies and headers in every form that receivers hold", async (t) => {
  const here = await world(t);
  const { headers, body } = await delivered(here, padded);
  const now = here.service.clock.now();
  const plain = Object.fromEntries(headers);
  const shouted = Object.fromEntries([...headers].map(([name, value]) => [name.toUpperCase(), value]));
  const lists = Object.fromEntries([...headers].map(([name, value]) => [name, [value]]));
  const text = Buffer.from(body).toString("utf8");
  const { buffer } = new Uint8Array(body);
  for (const raw of [body, Buffer.from(body), text, buffer])
    for (const given of [headers, plain, shouted, lists, { get: (name: string) => headers.get(name) }]) {
      assert.ok(verifyStandardWebhook(padded, raw, given, { now }));
      assert.ok(verifySignature(padded, raw, given));
      assert.ok(await verifySignatureAsync(padded, raw, given));
    }
  const caught = await here.service.webhooks.waitFor("project.created");
  assert.ok(verifyStandardWebhook(padded, caught.body, caught.headers, { now }), "as the inbox has it");
  const twice = { "x-service-signature": [plain["x-service-signature"] ?? "", "sha256=0"] };
  for (const given of [twice, {}, { ...plain, "X-Service-Signature": "sha256=0" }]) {
    assert.ok(!verifySignature(padded, body, given));
    assert.ok(!(await verifySignatureAsync(padded, body, given)));
  }
  assert.ok(!verifyStandardWebhook(padded, body, {}, { now }));
});

test("a missing secret and a parsed body are mistakes, and the error says what to pass", async () => {
  // biome-ignore lint/suspicious/noExplicitAny: what the types refuse
  const wrong = (value: unknown) => value as any;
  const checks = [
    (secret: string, body: string) => verifySignature(secret, body, null),
    (secret: string, body: string) => verifyStandardWebhook(secret, body, {}),
    (secret: string, body: string) => verifySignatureAsync(secret, body, null),
  ];
  for (const check of checks) {
    const told = async (secret: unknown, body: unknown) => check(wrong(secret), wrong(body));
    const secret = { name: "TypeError", message: /^the secret must be a string, not undefined: pass the webhook's/ };
    await assert.rejects(told(undefined, "{}"), secret);
    for (const [body, kind] of [
      [{ event: "ping" }, "an object"],
      [undefined, "undefined"],
      [1, "a number"],
    ])
      await assert.rejects(told("hush", body), {
        name: "TypeError",
        message: new RegExp(`^the body must be the raw body .* not ${kind}: read it before any parsing; in Express`),
      });
  }
  assert.throws(() => verifyStandardWebhook("hush", "{}", wrong(undefined)), /^TypeError: the headers must be all/);
});

test("the headers of Standard Webhooks are left out if the option says so", async (t) => {
  const { headers } = await delivered(await world(t, { deliveries: { standardWebhooks: false } }));
  assert.ok(headers.get("x-service-signature"));
  for (const name of ["id", "timestamp", "signature"]) assert.equal(headers.get(`webhook-${name}`), null);
});

/** The official library compares with `Date.now()`, but the world's clock stands in 2026. */
const followClock = (t: TestContext, { service }: World) =>
  t.mock.method(Date, "now", () => service.clock.now().getTime());

const bytes = Buffer.from("a key of Standard Webhooks, 32 b");
const padded = `whsec_${bytes.toString("base64")}`;
for (const [name, secret, official] of [
  ["whsec_ and base64", padded, () => new Webhook(padded)],
  ["whsec_ and base64 without padding", padded.replace(/=+$/, ""), () => new Webhook(padded.replace(/=+$/, ""))],
  ["text", "hush, hush", () => new Webhook("hush, hush", { format: "raw" })],
  ["whsec_ and text", "whsec_not-base64", () => new Webhook("whsec_not-base64", { format: "raw" })],
  ["whsec_ alone", "whsec_", () => new Webhook("whsec_", { format: "raw" })],
] as const)
  test(`the official library of Standard Webhooks verifies a delivery with a secret of ${name}`, async (t) => {
    const here = await world(t);
    const { headers, body } = await delivered(here, secret);
    assert.equal(headers.get("webhook-id"), headers.get("x-service-delivery"));
    assert.equal(
      headers.get("x-service-signature"),
      signatureOf(secret, body),
      "the plain signature has the whole secret",
    );
    const [text, all] = [Buffer.from(body).toString("utf8"), Object.fromEntries(headers)];

    followClock(t, here);
    assert.deepEqual(official().verify(text, all), JSON.parse(text));
    const isVerified = () => verifyStandardWebhook(secret, text, headers, { now: here.service.clock.now() });
    assert.ok(isVerified());
    assert.throws(() => official().verify(`${text} `, all), /No matching signature/);
    assert.throws(() => official().verify(text, { ...all, "webhook-id": "dlv_other" }), /No matching signature/);
    assert.throws(
      () => new Webhook(Buffer.from("other").toString("base64")).verify(text, all),
      /No matching signature/,
    );
    await here.service.clock.advance("301s");
    assert.throws(() => official().verify(text, all), /too old/);
    assert.ok(!isVerified());
  });

test("every try is signed with its own time, so that a late retry is no replay", async (t) => {
  const here = await world(t);
  const tries: string[] = [];
  here.service.webhooks.sink("custom", async (request) => {
    new Webhook(padded).verify(await request.text(), Object.fromEntries(request.headers));
    tries.push(request.headers.get("webhook-id") ?? "");
    return new Response(null, { status: tries.length < 6 ? 503 : 204 });
  });
  const config = { url: "https://custom.inbox.test/", secret: padded };
  expect(await here.call("owner", "POST", "/v1/integrations", { type: "custom", config }), 201);
  followClock(t, here);
  await here.project();
  await here.service.clock.runUntilIdle();
  assert.equal(tries.length, 6);
  assert.equal(new Set(tries).size, 1);
});

test("any secret signs, also one that begins like a URL and is none", async (t) => {
  for (const secret of ["https://", "https://[::1]:99999/", "https://hook.inbox.test/in"]) {
    const { headers, body } = await delivered(await world(t), secret);
    assert.equal(headers.get("x-service-signature"), signatureOf(secret, body), secret);
  }
});
