import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { createOutbound, type OutboundOptions } from "../../lib/drivers/outbound/outbound.ts";
import { certificate, type Wanted } from "../helpers/certificates.ts";
import { start } from "../helpers/webhook-receiver.ts";

describe("certificates", () => {
  const now = Date.now();
  const authority = certificate({ names: ["authority"], signs: true });
  const trusting = { mode: "start", allow: ["127.0.0.0/8", "::1/128"], ca: [authority.cert] } as const;
  const wanted = async (t: TestContext, options: Partial<OutboundOptions>, one: Wanted, host = "localhost") => {
    const there = await start(undefined, { certificate: certificate(one) });
    const outbound = createOutbound({ mode: "dev", resolve: async () => ["127.0.0.1"], ...options });
    t.after(() => Promise.all([there.close(), outbound.close()]));
    return outbound.send({ url: there.url.replace("localhost", host), headers: {}, body: "{}" });
  };

  const faults: readonly (readonly [string, Wanted, string?])[] = [
    ["certificate: self-signed", {}],
    ["certificate: unknown issuer", { issuer: certificate({ names: ["stranger"], signs: true }) }],
    ["certificate: issued for another name", { issuer: authority, names: ["other.example"] }],
    ["certificate: issued for another name", { issuer: authority }, "127.0.0.1"],
    ["certificate: expired", { issuer: authority, from: now - 200_000_000, to: now - 100_000_000 }],
    ["certificate: not yet valid", { issuer: authority, from: now + 100_000_000, to: now + 200_000_000 }],
  ];

  test("in the mode start a certificate must hold", async (t) => {
    for (const [error, one, host] of faults) {
      const sent = await wanted(t, trusting, one, host);
      assert.deepEqual([sent.status, sent.error, sent.response], [null, error, null]);
    }
    assert.equal((await wanted(t, trusting, { issuer: authority })).status, 200);
    assert.equal((await wanted(t, trusting, { issuer: authority, addresses: ["127.0.0.1"] }, "127.0.0.1")).status, 200);
  });

  test("in the mode dev any will do", async (t) => {
    for (const [, one, host] of faults) assert.equal((await wanted(t, {}, one, host)).status, 200);
  });

  test("no variable of the environment changes that", async (t) => {
    const before = process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
    process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0";
    t.after(() => {
      if (before === undefined) delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
      else process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = before;
    });
    assert.equal((await wanted(t, trusting, {})).error, "certificate: self-signed");
  });
});
