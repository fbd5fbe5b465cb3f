import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createReceiver, parseReceiver } from "../../bin/receiver.ts";
import { start } from "../helpers/webhook-receiver.ts";

const event = {
  id: `evt_${"0".repeat(26)}`,
  event: "project.created",
  timestamp: "2026-01-01T00:00:00.000Z",
  data: {},
};

const posted = async (t: TestContext, to: string) => {
  const receiver = createReceiver(to, "whsec_demo");
  t.after(() => receiver.close());
  return (await receiver.post(event, 1)).result;
};

test("an event reaches a receiver with any certificate; a wrong protocol and a closed port are named", async (t) => {
  const [secure, plain] = [await start(), await start(undefined, { plain: true })];
  t.after(() => Promise.all([secure.close(), plain.close()]));
  assert.equal(await posted(t, secure.url), "200");
  assert.equal(await posted(t, plain.url), "200");
  const [asPlain, asSecure] = [secure.url.replace("https:", "http:"), plain.url.replace("http:", "https:")];
  assert.match(await posted(t, asPlain), /^connection reset; if the receiver speaks https, write https:\/\/$/);
  assert.match(await posted(t, asSecure), /^TLS: .*; if the receiver speaks http, write http:\/\/$/);
  // Port 1 is among those that fetch refuses.
  assert.equal(await posted(t, "http://127.0.0.1:1/"), "connection refused (ECONNREFUSED 127.0.0.1:1)");
  assert.equal(await posted(t, "http://169.254.169.254/"), "address_not_allowed");
});

test("--forward-to takes a URL without its scheme, and a port of this machine", () => {
  for (const [given, url] of [
    ["localhost:3000/webhooks", "http://localhost:3000/webhooks"],
    ["https://localhost:3000", "https://localhost:3000"],
    ["3000", "http://localhost:3000"],
    [":3000", "http://localhost:3000"],
    ["3000/webhooks", "http://localhost:3000/webhooks"],
    ["127.0.0.1:3000", "http://127.0.0.1:3000"],
  ] as const)
    assert.equal(parseReceiver(given), url);
  for (const wrong of ["", "70000", "ftp://localhost", "http://"])
    assert.throws(() => parseReceiver(wrong), /must be a URL such as http:\/\/localhost:3000\/webhooks, or a port$/);
});
