import assert from "node:assert/strict";
import { test } from "node:test";
import type { Options, Seed } from "../../lib/index.ts";
import { endOf } from "../helpers/deployments.ts";
import { noSandbox, type Running, runtimeWorld } from "../helpers/running-apps.ts";
import { expect, git, seed, type Who } from "../helpers/test-service.ts";

const sleeping = { "package.json": { name: "web", scripts: { build: "sleep 600", start: "true" } } };

async function deploy(here: Running, who: Who, repo: string, count: number): Promise<string[]> {
  const { id } = expect(await here.call(who, "POST", "/v1/projects", { name: repo.slice(-4), region: "local" }), 201);
  const ids: string[] = [];
  for (let i = 0; i < count; i++) {
    const order = { project_id: id, environment: `e${i}`, source: { ...git, repo } };
    ids.push(expect(await here.call(who, "POST", "/v1/deployments", order), 201).id);
  }
  return ids;
}
const building = async (here: Running) =>
  expect(await here.call("owner", "GET", "/v1/deployments?status=building"), 200).data.length;

const worldOf = async (t: Parameters<typeof runtimeWorld>[0], options: Options) => {
  const here = await runtimeWorld(t, { logLevel: "silent", ...options });
  here.repos.commit("acme/slow", sleeping);
  here.repos.commit("acme/fast", { "index.html": "here" });
  return here;
};

test("eight sleeping builds of one organization hold up no other", { skip: noSandbox }, async (t) => {
  const here = await worldOf(t, {});
  await deploy(here, "owner", "acme/slow", 8);
  const [id] = await deploy(here, "stranger", "acme/fast", 1);
  const { status } = await endOf(here, "stranger", id ?? "");
  assert.equal(status, "active");
  assert.equal(await building(here), 2, "half of the four places");
});

test("the only organization has all places", { skip: noSandbox }, async (t) => {
  const only: Seed = { organizations: seed.organizations.slice(0, 1) };
  const here = await worldOf(t, { seed: only, deployments: { runtime: "process", concurrency: 2 } });
  for (const id of await deploy(here, "owner", "acme/slow", 2)) await here.logged(id, /^Build started$/);
});
