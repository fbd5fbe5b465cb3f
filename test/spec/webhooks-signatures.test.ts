import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { verifySignature } from "../../lib/index.ts";
import { expect, type World, world } from "../world.ts";

/** The request that a signed webhook receives for a new project. */
async function delivered(here: World) {
  const requests: { headers: Headers; body: Uint8Array }[] = [];
  here.service.webhooks.sink("hook", async (request) => {
    requests.push({ headers: request.headers, body: new Uint8Array(await request.arrayBuffer()) });
    return new Response(null, { status: 204 });
  });
  const hook = { url: "https://hook.inbox.test/in", events: ["*"], secret: "whsec_demo" };
  expect(await here.call("owner", "POST", "/v1/webhooks", hook), 201);
  await here.project("wëb ✓");
  await here.service.settle();
  const [first] = requests;
  assert.ok(first);
  return first;
}

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

test("the headers of Standard Webhooks are sent only if the option is set, and sign the id and the timestamp too", async (t) => {
  const plain = await delivered(await world(t));
  assert.equal(plain.headers.get("webhook-id"), null);
  const { headers, body } = await delivered(await world(t, { deliveries: { standardWebhooks: true } }));
  const id = headers.get("webhook-id");
  const at = headers.get("webhook-timestamp");
  assert.equal(id, headers.get("x-service-delivery"));
  assert.equal(at, String(Date.parse("2026-01-01T00:00:00Z") / 1000));
  const text = Buffer.from(body).toString("utf8");
  const right = createHmac("sha256", "whsec_demo").update(`${id}.${at}.${text}`).digest("base64");
  assert.equal(headers.get("webhook-signature"), `v1,${right}`);
});
