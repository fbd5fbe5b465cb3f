import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createRandom } from "../lib/kernel/random.ts";
import { forked, git, type World, world } from "./world.ts";

const steps = 200;

/** The same calls in the same order for the same seed: what exists is remembered, and picked from by chance. */
async function play(here: World, seed: string): Promise<string[]> {
  const random = createRandom(seed);
  const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(random.fraction() * list.length)];
  const made: Record<string, string[]> = {
    projects: [],
    deployments: [],
    generations: [],
    webhooks: [],
  };
  const told: string[] = [];
  const call = async (method: string, path: string, body?: object, headers = {}) => {
    const reply = await here.call("owner", method, path, body, headers);
    told.push(`${method} ${path} ${reply.status} ${JSON.stringify([...reply.headers])} ${reply.text}`);
    if (method === "POST" && reply.status === 201) made[path.slice(4)]?.push(reply.body.id);
    return reply;
  };
  const one = (kind: string) => pick(made[kind] ?? []) ?? "none_01";
  const source = () => ({ ...git, branch: `b${Math.floor(random.fraction() * 5)}` });
  const actions = [
    () => call("POST", "/v1/projects", { name: `p-${random.letters(6)}`, region: "eu-west-1" }),
    () => call("POST", "/v1/deployments", { project_id: one("projects"), environment: "production", source: source() }),
    () =>
      call("POST", "/v1/deployments", { project_id: one("projects") }, { "idempotency-key": `k${random.letters(1)}` }),
    () => call("POST", "/v1/generations", { model: "image-draft", prompt: random.letters(5), resolution: "512" }),
    () =>
      call("POST", "/v1/webhooks", { url: `https://h${random.letters(2)}.inbox.test/`, events: ["*"], secret: "hush" }),
    () => call("POST", "/v1/users/invite", { email: `${random.letters(8)}@acme.test`, role: "viewer" }),
    () => call("POST", `/v1/deployments/${one("deployments")}/rollback`),
    () => call("POST", `/v1/deployments/${one("deployments")}/cancel`),
    () => call("GET", `/v1/deployments/${one("deployments")}/logs`),
    () => call("GET", `/v1/generations/${one("generations")}`),
    () => call("GET", `/v1/webhooks/${one("webhooks")}/deliveries`),
    () => call("GET", `/v1/${pick(["projects", "deployments", "users", "webhooks", "events", "usage", "me"])}`),
    () => call("PUT", `/v1/projects/${one("projects")}`, { description: random.letters(4) }),
    () => call("DELETE", `/v1/webhooks/${one("webhooks")}`),
    async () => told.push(JSON.stringify(await here.service.clock.advance(pick(["1s", "5s", "3m", "1h"]) ?? "1s"))),
  ];
  for (let step = 0; step < steps; step++) await pick(actions)?.();
  await here.service.clock.runUntilIdle();
  let files = 0;
  for (const id of made["generations"] ?? []) {
    const { body } = await call("GET", `/v1/generations/${id}`);
    const file = body.output && (await here.service.fetch(body.output.url));
    if (!file) continue;
    files += 1;
    told.push(`${JSON.stringify([...file.headers])} ${Buffer.from(await file.arrayBuffer()).toString("base64")}`);
  }
  assert.ok(files > 0);
  for (const [kind, ids] of Object.entries(made)) assert.ok(ids.length > 0, kind);
  const caught = here.service.inbox.list();
  assert.ok(caught.length > 0);
  told.push(JSON.stringify(caught));
  return told;
}

const same = (one: readonly string[], two: readonly string[]) => {
  assert.equal(one.length, two.length);
  for (const [step, line] of one.entries()) assert.equal(two[step], line);
};

/** Deliveries go out in both, and one endpoint of them fails now and then. */
async function prepared(t: TestContext): Promise<World> {
  const here = await world(t);
  here.service.inbox.script("hAA", [500, 503, { timeout: true }]);
  return here;
}

test(`the same ${steps} calls give the same bytes: answers, headers, deliveries, files`, async (t) => {
  const [one, two] = [await prepared(t), await prepared(t)];
  const fork = await forked(t, one);
  const kept = await two.service.snapshot();
  const told = await play(one, "script");
  assert.ok(told.length >= steps);
  same(told, await play(two, "script"));
  same(told, await play(fork, "script"));
  await two.service.restore(kept.id);
  same(told, await play(two, "script"));
  const other = await play(await world(t, { random: "another world" }), "script");
  assert.notDeepEqual(other, told);
});
