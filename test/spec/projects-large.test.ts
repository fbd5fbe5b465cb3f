import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import Database from "better-sqlite3";
import type { Options } from "../../lib/index.ts";
import { linesOf, startChild } from "../helpers/child-processes.ts";
import { violations } from "../helpers/invariants.ts";
import { folderOf } from "../helpers/temporary-store.ts";
import { expect, type World, world } from "../helpers/test-service.ts";

/** More deployments than one transaction removes, most of them queued when their project is deleted. */
const many = 230;
const options = { rateLimit: 1_000_000, deployments: { concurrency: 2 } } satisfies Options;

/** A world with a large project and a small one, both with running and waiting deployments. */
async function twoProjects(t: TestContext, more: Options = {}) {
  const here = await world(t, { ...options, ...more });
  const [large, small] = [await here.project("large"), await here.project("small")];
  const lost: string[] = [];
  for (let i = 0; i < many; i++)
    lost.push((await here.deploy(large.id, { environment: `e${i % 5}`, source: { ...git, repo: "acme/large" } })).id);
  const kept = await here.deploy(small.id);
  await here.service.clock.advance("2s");
  return { here, large, small, lost, kept };
}
const git = { type: "git", branch: "main" };

const listed = async ({ call }: World, query: string): Promise<string[]> =>
  expect(await call("viewer", "GET", `/v1/deployments?per_page=100${query}`), 200).data.map(
    ({ id }: { id: string }) => id,
  );

/** Asserts that no call can read or change the deleted project. */
async function assertGone(here: World, large: { id: string }, lost: readonly string[]): Promise<void> {
  const missing = async (method: string, path: string, body?: object) =>
    expect(await here.call("owner", method, path, body), 404);
  const project = `/v1/projects/${large.id}`;
  await missing("GET", project);
  await missing("PUT", project, { name: "another" });
  await missing("DELETE", project);
  await missing("POST", `${project}/archive`);
  await missing("GET", `${project}/environments`);
  await missing("PUT", `${project}/environments/e1`, { variables: {} });
  await missing("POST", "/v1/deployments", {
    project_id: large.id,
    environment: "e1",
    source: { ...git, repo: "acme/large" },
  });
  for (const id of [lost[0], lost[100], lost.at(-1)]) {
    await missing("GET", `/v1/deployments/${id}`);
    await missing("GET", `/v1/deployments/${id}/logs`);
    await missing("POST", `/v1/deployments/${id}/cancel`);
    await missing("POST", `/v1/deployments/${id}/rollback`);
  }
  const names = expect(await here.call("viewer", "GET", "/v1/projects"), 200).data;
  assert.deepEqual(
    names.map(({ name }: { name: string }) => name),
    ["small"],
  );
}

test("a project with more rows than one transaction removes is gone at once, with everything in it", async (t) => {
  const { here, large, lost, kept } = await twoProjects(t);
  expect(await here.call("owner", "DELETE", `/v1/projects/${large.id}`), 204);
  await assertGone(here, large, lost);
  for (const query of ["", "&environment=production", "&status=building"])
    assert.deepEqual(await listed(here, query), [kept.id], query);
  for (const query of [`&project_id=${large.id}`, "&environment=e1", "&status=queued"])
    assert.deepEqual(await listed(here, query), [], query);
});

test("its name is free, and a new project of that name gets nothing of it", async (t) => {
  const { here, large } = await twoProjects(t);
  expect(await here.call("owner", "DELETE", `/v1/projects/${large.id}`), 204);
  const next = await here.project("large");
  assert.deepEqual(await listed(here, `&project_id=${next.id}`), []);
  await here.service.settle();
  assert.equal(expect(await here.call("viewer", "GET", `/v1/projects/${next.id}`), 200).name, "large");
});

test("a second one can be deleted while the rows of the first are still there", async (t) => {
  const { here, large } = await twoProjects(t);
  const { id } = await here.project("another");
  for (let i = 0; i < 60; i++) await here.deploy(id, { environment: `e${i % 5}` });
  expect(await here.call("owner", "DELETE", `/v1/projects/${large.id}`), 204);
  expect(await here.call("owner", "DELETE", `/v1/projects/${id}`), 204);
  await here.service.settle();
  assert.deepEqual(await here.service.invariants(), []);
});

test("none of its deployments continues, and deployments that waited for its slots start", async (t) => {
  const { here, large, small } = await twoProjects(t);
  const waiting = await here.deploy(small.id, { environment: "staging" });
  await here.service.clock.advance("1s");
  assert.equal(expect(await here.call("viewer", "GET", `/v1/deployments/${waiting.id}`), 200).status, "queued");
  expect(await here.call("owner", "DELETE", `/v1/projects/${large.id}`), 204);
  assert.equal(expect(await here.call("viewer", "GET", `/v1/deployments/${waiting.id}`), 200).status, "building");
  await here.service.clock.runUntilIdle();
  const events = expect(await here.call("viewer", "GET", "/v1/events?per_page=100"), 200).data;
  const deleted = events.findIndex(({ event }: { event: string }) => event === "project.deleted");
  const after = events.slice(0, deleted) as { data: { project_id: string } }[];
  assert.ok(after.length > 0);
  assert.deepEqual([...new Set(after.map(({ data }) => data.project_id))], [small.id]);
});

test("totals do not count it", async (t) => {
  const { here, large, kept } = await twoProjects(t, { envelope: "full" });
  const total = async () => (await here.call("viewer", "GET", "/v1/deployments")).body.pagination.total;
  assert.equal(await total(), many + 1);
  expect(await here.call("owner", "DELETE", `/v1/projects/${large.id}`), 204);
  const body = (await here.call("viewer", "GET", "/v1/deployments")).body;
  assert.deepEqual([body.pagination.total, body.data.map(({ id }: { id: string }) => id)], [1, [kept.id]]);
  assert.equal((await here.call("viewer", "GET", "/v1/projects")).body.pagination.total, 1);
  await here.service.settle();
  assert.equal(await total(), 1);
});

test("a push goes to the project that deploys its repository now", async (t) => {
  const { here, large, small } = await twoProjects(t);
  await here.project("third");
  await here.deploy(small.id, { source: { ...git, repo: "acme/large" } });
  for (let i = 0; i < 110; i++) await here.deploy(large.id, { source: { ...git, repo: "acme/large" } });
  const config = { repo: "acme/large", branch: "main", environment: "production" };
  const { id } = expect(await here.call("owner", "POST", "/v1/integrations", { type: "code_host", config }), 201);
  expect(await here.call("owner", "DELETE", `/v1/projects/${large.id}`), 204);
  const pushed = { ref: "refs/heads/main", after: "0".repeat(39) + 1, repository: { full_name: "acme/large" } };
  const headers = { "x-github-event": "push" };
  const { data } = expect(await here.call("nobody", "POST", `/hooks/code-host/${id}`, pushed, headers), 202);
  const made = expect(await here.call("viewer", "GET", `/v1/deployments/${data[0].deployment_id}`), 200);
  assert.equal(made.project_id, small.id);
});

/** The number of a project's rows left in each table. */
function rowsLeft(file: string): Record<string, number> {
  const database = new Database(file, { readonly: true });
  const count = (table: string) => database.prepare(`select count(*) from ${table}`).pluck().get() as number;
  const tables = ["projects", "environments", "deployments", "deployment_logs", "removals"];
  const left = Object.fromEntries(tables.map((table) => [table, count(table)]));
  assert.deepEqual(left["removals"] === 0 ? violations(database) : [], []);
  database.close();
  return left;
}

const nothing = { projects: 0, environments: 0, deployments: 0, deployment_logs: 0, removals: 0 };

test("its rows are removed in batches, however many logs they have, until none are left", async (t) => {
  const database = join(folderOf(t), "svc.db");
  const chatty = {
    delay: () => 0,
    step: async () => ({
      state: "done" as const,
      version: "1.0.0",
      logs: Array.from({ length: 1_700 }, (_, i) => ({ level: "info" as const, message: `line ${i}` })),
    }),
  };
  const here = await world(t, { ...options, database, deployments: { driver: chatty, concurrency: 2 } });
  const { id } = await here.project("large");
  for (const environment of ["a", "b"]) await here.deploy(id, { environment });
  await here.service.settle();
  const before = rowsLeft(database);
  assert.equal(before["deployments"], 2);
  expect(await here.call("owner", "DELETE", `/v1/projects/${id}`), 204);
  const after = rowsLeft(database);
  assert.equal(after["deployment_logs"], (before["deployment_logs"] ?? 0) - 500);
  assert.equal((await here.service.settle()).ran, Math.ceil(((after["deployment_logs"] ?? 0) + 1) / 500));
  assert.deepEqual(rowsLeft(database), nothing);
});

test("so do its environments", async (t) => {
  const database = join(folderOf(t), "svc.db");
  const here = await world(t, { ...options, database });
  const { id } = await here.project("large");
  await here.deploy(id);
  await here.service.clock.runUntilIdle();
  const other = new Database(database);
  other.exec(`insert into environments (project_id, name, variables)
    with recursive n (i) as (select 1 union all select i + 1 from n where i < 1000) select '${id}', 'e' || i, '{}' from n`);
  other.close();
  expect(await here.call("owner", "DELETE", `/v1/projects/${id}`), 204);
  assert.deepEqual(rowsLeft(database), { ...nothing, projects: 1, environments: 951, removals: 1 });
  assert.equal((await here.service.settle()).ran, 20);
  assert.deepEqual(rowsLeft(database), nothing);
});

test("a project that one transaction removes leaves no job behind", async (t) => {
  const here = await world(t, options);
  const { id } = await here.project("small");
  for (let i = 0; i < 20; i++) await here.deploy(id);
  await here.service.clock.runUntilIdle();
  expect(await here.call("owner", "DELETE", `/v1/projects/${id}`), 204);
  assert.equal((await here.service.settle()).ran, 0);
});

test("a kill at any moment of the removal loses nothing, and the next start continues it", async (t) => {
  const file = join(folderOf(t), "svc.db");
  const first = await linesOf(await startChild(file, "remove"), (line) => line.startsWith("removed"));
  const [, id] = first.at(-1)?.split(" ") ?? [];
  assert.ok(id, first.at(-1));
  const before = rowsLeft(file);
  assert.equal(before["removals"], 1);
  // This process continues the removal, and is killed in the middle.
  await linesOf(await startChild(file, "climb"), (line) => line.startsWith("ready"));
  const here = await world(t, { ...options, database: file, clock: "manual" });
  expect(await here.call("owner", "GET", `/v1/projects/${id}`), 404);
  assert.deepEqual(await listed(here, ""), []);
  await here.service.settle();
  assert.deepEqual(rowsLeft(file), nothing);
});
