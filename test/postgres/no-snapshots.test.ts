import assert from "node:assert/strict";
import { test } from "node:test";
import { severalServices } from "./several.ts";

test('"In dev and in the library PostgreSQL has no snapshots, forks and reset: 409 limit_reached, with a message that says so"', async (t) => {
  const { services } = await severalServices(t, 1, { mode: "dev" });
  const service = services[0];
  assert.ok(service);
  const message = "a PostgreSQL database has no snapshots, forks and reset; use one in memory or in a file";
  const { url } = await service.listen({ port: 0 });
  const paths = ["/_svc/snapshots", "/_svc/snapshots/snap_1/restore", "/_svc/forks", "/_svc/reset"];
  for (const path of paths) {
    const answer = await fetch(url + path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    const { error } = (await answer.json()) as { error: { code: string; message: string } };
    assert.deepEqual([answer.status, error.code, error.message], [409, "limit_reached", message], path);
  }
  const calls = { snapshot: () => service.snapshot(), fork: () => service.fork(), reset: () => service.reset() };
  for (const [name, call] of Object.entries(calls))
    await assert.rejects(call, { code: "limit_reached", message }, name);
  // The rest of the control interface still works.
  assert.equal((await fetch(`${url}/_svc/clock`)).status, 200);
});
