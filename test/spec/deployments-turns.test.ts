import assert from "node:assert/strict";
import { test } from "node:test";
import { expect, git, type Who, type World, world } from "../helpers/test-service.ts";

/** Queues deployments to separate environments, so that only the limits delay them. */
async function queue(here: World, who: Who, count: number): Promise<string[]> {
  const { id } = expect(await here.call(who, "POST", "/v1/projects", { name: "web", region: "eu" }), 201);
  const ids: string[] = [];
  for (let i = 0; i < count; i++) {
    const order = { project_id: id, environment: `e${i}`, source: git };
    ids.push(expect(await here.call(who, "POST", "/v1/deployments", order), 201).id);
  }
  return ids;
}
const startsOf = async (here: World, who: Who): Promise<string[]> => {
  const { data } = expect(await here.call(who, "GET", "/v1/events?per_page=100"), 200);
  return data
    .filter(({ event }: { event: string }) => event === "deployment.started")
    .map(({ timestamp }: { timestamp: string }) => timestamp)
    .reverse();
};
const building = async (here: World, who: Who) =>
  expect(await here.call(who, "GET", "/v1/deployments?status=building"), 200).data.length;

test("organizations start in turn, however many one of them has queued before", async (t) => {
  const here = await world(t, { deployments: { concurrency: 1 } });
  await queue(here, "owner", 6);
  await queue(here, "stranger", 2);
  await here.service.clock.advance("1m");
  const [acme, globex] = [await startsOf(here, "owner"), await startsOf(here, "stranger")];
  const order = [...acme.map((at) => [at, "acme"]), ...globex.map((at) => [at, "globex"])].sort();
  const names = order.map(([, name]) => name).join(" ");
  assert.match(names, /^(acme globex acme globex|globex acme globex acme) acme acme acme acme$/);
});

test("within an organization the oldest starts first", async (t) => {
  const here = await world(t, { deployments: { concurrency: 1 } });
  const ids = await queue(here, "owner", 3);
  await here.service.clock.advance("1m");
  const { data } = expect(await here.call("owner", "GET", "/v1/events?per_page=100"), 200);
  const started = data.filter(({ event }: { event: string }) => event === "deployment.started").reverse();
  assert.deepEqual(
    started.map((one: { data: { deployment_id: string } }) => one.data.deployment_id),
    ids,
  );
});

test("the option concurrencyPerOrganization leaves places for others", async (t) => {
  const here = await world(t, { deployments: { concurrency: 4, concurrencyPerOrganization: 2 } });
  await queue(here, "owner", 8);
  await here.service.clock.advance("2s");
  assert.equal(await building(here, "owner"), 2);
  await queue(here, "stranger", 1);
  await here.service.clock.advance("1s");
  assert.deepEqual([await building(here, "owner"), await building(here, "stranger")], [2, 1]);
  await here.service.clock.advance("1m");
  assert.equal((await startsOf(here, "owner")).length, 8, "no place is lost");
});

test("what is simulated has no limit an organization by default", async (t) => {
  const here = await world(t);
  await queue(here, "owner", 8);
  await here.service.clock.advance("2s");
  assert.equal(await building(here, "owner"), 4);
});

test("a limit that is none is refused", async () => {
  const { createService } = await import("../../lib/index.ts");
  for (const concurrencyPerOrganization of [0, -1, 1.5])
    await assert.rejects(
      createService({ deployments: { concurrencyPerOrganization } }),
      /deployments\.concurrencyPerOrganization must be/,
    );
});
