import assert from "node:assert/strict";
import { test } from "node:test";
import { createOutbound, type OutboundOptions } from "../../lib/drivers/outbound/outbound.ts";
import { mockTime } from "../helpers/mock-time.ts";
import { start } from "../helpers/webhook-receiver.ts";

test("a name below localhost resolves to this machine, whatever DNS answers", async (t) => {
  const outboundOf = (options: OutboundOptions) => {
    const outbound = createOutbound(options);
    t.after(outbound.close);
    return outbound;
  };
  const fails = async () => Promise.reject(Object.assign(new Error("no"), { code: "ENOTFOUND" }));
  for (const resolve of [fails, async () => [], async () => ["93.184.215.14"]]) {
    const { checkUrl, send } = outboundOf({ mode: "start", resolve });
    for (const url of ["https://x.localhost/", "https://A.B.LOCALHOST.:8443/in"]) {
      assert.match((await checkUrl(url)) ?? "", /^must lead to public addresses only/);
      assert.equal((await send({ url, headers: {}, body: "" })).error, "address_not_allowed");
    }
    assert.equal(await checkUrl("https://notlocalhost.example/"), undefined);
    assert.equal(await outboundOf({ mode: "dev", resolve }).checkUrl("https://x.localhost/"), undefined);
  }
  const { checkUrl } = outboundOf({ mode: "start", resolve: fails, allow: ["x.localhost:8443"] });
  assert.equal(await checkUrl("https://x.localhost:8443/"), undefined);
});

test("in dev a delivery to localhost is never caught as one to a public address, however late the lookup is", async (t) => {
  const receiver = await start();
  t.after(receiver.close);
  // After the process was stopped for a while, all its timers are due at once.
  mockTime(t, { apis: ["setTimeout"] });
  const never = () => new Promise<never>(() => {});
  for (const resolve of [never, async () => [], async () => Promise.reject(new Error("EAI_AGAIN"))]) {
    const { send, close } = createOutbound({ mode: "dev", confined: true, resolve });
    t.after(close);
    const sent = send({ url: receiver.url, headers: {}, body: "" });
    t.mock.timers.tick(5_000);
    const { status, isOutside } = await sent;
    assert.deepEqual([status, isOutside], [200, undefined]);
  }
  assert.equal(receiver.requests.length, 3);
});
