import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { createOutbound } from "../../lib/drivers/outbound/outbound.ts";
import { start } from "../helpers/webhook-receiver.ts";

test("an answer that arrives in time counts, although the process is stopped until later", async (t) => {
  const receiver = await start((_, response) => {
    // Sent before the process stops, and read after it.
    response.end("in time");
    response.socket?.uncork();
    spawnSync("sleep", ["1.5"]);
  });
  t.after(receiver.close);
  const outbound = createOutbound({ mode: "dev", resolve: async () => ["127.0.0.1"], timeout: "1s" });
  t.after(outbound.close);
  const { status, error, response } = await outbound.send({ url: receiver.url, headers: {}, body: "{}" });
  assert.deepEqual({ status, error, response }, { status: 200, error: null, response: "in time" });
});
