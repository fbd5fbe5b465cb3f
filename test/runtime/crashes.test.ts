import assert from "node:assert/strict";
import { test } from "node:test";
import type { Crash, DeploymentDriver, Instance } from "../../lib/drivers/deployment/contract.ts";
import { countCrash, mayMail } from "../../lib/platform/apps/crashes.ts";
import { Unhealthy } from "../../lib/platform/runtime/failure.ts";
import { endOf } from "../helpers/deployments.ts";
import { expect, world } from "../helpers/test-service.ts";

test("A crash loop is seen: in the environment, in the first event and each tenth of an hour, in the metrics", async (t) => {
  const crashes: ((crash: Crash) => void)[] = [];
  const instanceOf = (deployment_id: string): Instance => ({
    ...{ deployment_id, port: undefined, up: async () => true, output() {}, stop: async () => {} },
    crashes: (take) => void crashes.push(take),
  });
  const start = async () => {
    throw new Unhealthy("it ended", { crash: { process: "web", exit_code: 4 } });
  };
  const driver: DeploymentDriver = {
    delay: () => 0,
    step: async () => ({ state: "done", version: "v1", release: "r1", logs: [] }),
    runtime: {
      ...{ name: "crashing", refuses: () => undefined, begin: async () => {}, abandon: async () => {} },
      ...{ take: instanceOf, start, discard: async () => {} },
      ...{ forget: async () => {}, close: async () => {} },
    },
  };
  const here = await world(t, { clock: "real", apps: { port: 0 }, deployments: { driver } });
  const hook = { url: "https://told.inbox.test/in", events: ["app.crashed"] };
  expect(await here.call("owner", "POST", "/v1/webhooks", hook), 201);
  const chat = { webhook_url: "https://chat.inbox.test/in", events: ["app.crashed"] };
  expect(await here.call("owner", "POST", "/v1/integrations", { type: "chat", config: chat }), 201);
  const { id: project_id } = await here.project("web");
  const path = `/v1/projects/${project_id}/environments`;
  const deployed = async () => endOf(here, "viewer", (await here.deploy(project_id)).id);
  const restarts = async () => expect(await here.call("viewer", "GET", path), 200).data[0].restarts;
  const told = async (endpoint = "told") => JSON.parse((await here.service.webhooks.waitFor("*", { endpoint })).body);
  const data = { project_id, environment: "production", process: "web", exit_code: 3 };

  const { deployed_at } = await deployed();
  assert.deepEqual(await restarts(), { count: 0, since: deployed_at });
  const [first] = crashes;
  for (let i = 0; i < 10; i++) first?.({ process: "web", exit_code: 3 });
  assert.deepEqual((await told()).data, { ...data, restarts: 1 });
  assert.deepEqual((await told()).data, { ...data, restarts: 10 });
  assert.match((await told("chat")).text, /\*web\*: \*web\* of \*production\* ended by itself with the exit code 3/);
  assert.deepEqual(await restarts(), { count: 10, since: deployed_at });
  const mails = await here.service.mails();
  assert.deepEqual(
    mails.map(({ to, subject }) => [to, subject]),
    ["owner@acme.test", "admin@acme.test"].map((to) => [to, "web crashed in production"]),
  );
  assert.match(mails[0]?.text ?? "", /process web of web in production ended by itself with the exit code 3/);
  assert.match(mails[0]?.text ?? "", /svc-server logs proj_\w+ --environment production/);
  assert.match(await (await here.service.fetch("/metrics")).text(), /^svc_app_crashes_total 10$/m);

  // The first of the next release is told again; the earlier one counts no longer.
  const { deployed_at: later } = await deployed();
  first?.({ process: "web", exit_code: 3 });
  crashes.at(-1)?.({ process: "worker", exit_code: null });
  assert.deepEqual((await told()).data, { ...data, process: "worker", exit_code: null, restarts: 1 });
  assert.deepEqual(await restarts(), { count: 1, since: later });

  // One that ends while it starts counts too.
  await deployed();
  expect(await here.call("owner", "POST", `${path}/production/restart`), 200);
  assert.deepEqual((await told()).data, { ...data, exit_code: 4, restarts: 1 });
  assert.equal((await here.service.mails()).length, 2, "an environment makes mails once in an hour");
});

test("Crashes count in the hour that the first of them begins", () => {
  const start = Date.parse("2026-01-01T00:00:00Z");
  const none = { restarts: 0, restarts_since: "2025-12-31T00:00:00.000Z", hour_restarts: 0, hour_since: null };
  let now: ReturnType<typeof countCrash> = { ...none, isTold: false };
  const told: number[] = [];
  // One in each six minutes: ten in each hour.
  for (let i = 0; i < 25; i++) {
    now = countCrash(now, start + i * 6 * 60_000);
    if (now.isTold) told.push(now.restarts);
  }
  assert.deepEqual(told, [1, 10, 20]);
  // One in each ten minutes: never ten in an hour.
  let slow = { ...none, restarts: 1 };
  for (let i = 0; i < 25; i++) {
    const { isTold, ...next } = countCrash(slow, start + i * 10 * 60_000);
    assert.equal(isTold, false);
    slow = next as typeof slow;
  }
});

test("A crash is mailed once for each release, and an hour after the last mail at the earliest", () => {
  const mailed_at = "2026-01-01T12:00:00.000Z";
  const may = (restarts_since: string, now: string) => mayMail({ mailed_at, restarts_since }, Date.parse(now));
  assert.equal(may("2026-01-01T11:00:00.000Z", "2026-01-01T18:00:00Z"), false);
  assert.equal(may("2026-01-01T12:30:00.000Z", "2026-01-01T12:59:59Z"), false);
  assert.equal(may("2026-01-01T12:30:00.000Z", "2026-01-01T13:00:00Z"), true);
});
