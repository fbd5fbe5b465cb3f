import assert from "node:assert/strict";
import { Agent, request } from "node:http";
import { test } from "node:test";
import { endOf } from "../helpers/deployments.ts";
import { app, runtimeWorld } from "../helpers/running-apps.ts";
import { expect } from "../helpers/test-service.ts";

const isLong = process.env["TEST_LONG"] !== undefined;
const clients = isLong ? 16 : 4;
const switches = isLong ? 20 : 3;

test(`${switches} switches under load lose no request, with kept connections and new ones`, async (t) => {
  const here = await runtimeWorld(t);
  const { port } = new URL(here.service.appsUrl ?? "");
  const { id } = await here.project("web");
  here.repos.commit("acme/web", app("one"));
  const first = await here.release(id);
  assert.equal(first.status, "active");
  here.repos.commit("acme/web", app("two"));
  let live = await here.release(id);

  const agents = [new Agent({ keepAlive: true }), new Agent({ keepAlive: false })];
  t.after(() => {
    for (const agent of agents) agent.destroy();
  });
  let isOver = false;
  const counts = { answered: 0, failed: 0 };
  const one = (agent: Agent | undefined) =>
    new Promise<void>((resolve) => {
      const fail = () => {
        counts.failed += 1;
        resolve();
      };
      const headers = { host: "production-web.localhost" };
      const asked = request({ host: "127.0.0.1", port, headers, ...(agent && { agent }) }, (response) => {
        if (response.statusCode !== 200) counts.failed += 1;
        counts.answered += 1;
        response.on("error", fail).on("end", resolve).resume();
      });
      asked.on("error", fail).end();
    });
  const load = Array.from({ length: clients }, async (_, i) => {
    for (let sent = 0; sent < 1_000_000 && !isOver; sent++) await one(agents[i % 2]);
  });
  for (let i = 0; i < switches; i++) {
    const { id: back } = expect(await here.call("developer", "POST", `/v1/deployments/${live.id}/rollback`), 201);
    live = await endOf(here, "viewer", back);
    assert.equal(live.status, "active");
  }
  isOver = true;
  await Promise.all(load);
  t.diagnostic(`${counts.answered} requests answered, ${counts.failed} failed`);
  assert.equal(counts.failed, 0);
  assert.ok(counts.answered > switches);
});
