import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createService } from "../../lib/index.ts";
import { endOf } from "../helpers/deployments.ts";
import { program, temporaryFolder } from "../helpers/program.ts";
import { app, noSandbox, processesWith, runtimeWorld } from "../helpers/running-apps.ts";
import { around, expect, seed } from "../helpers/test-service.ts";
import { until } from "../helpers/until.ts";

const host = "production-web.localhost";

test("After a start with a runtime, what was simulated has a host, no release to go back to, and no stray caches", async (t) => {
  const database = join(temporaryFolder(t), "svc.db");
  const before = await createService({ database, seed, logLevel: "error" });
  t.after(() => before.close());
  const simulated = around(before);
  await before.scenarios.add({ outcome: { pace: "instant" } });
  const { id } = await simulated.project("web");
  for (const _ of [1, 2]) {
    const { id: deployment } = await simulated.deploy(id);
    await endOf(simulated, "viewer", deployment);
  }
  await before.close();
  const caches = `${database}-apps/cache`;
  mkdirSync(join(caches, "proj_gone", "git"), { recursive: true });

  const here = await runtimeWorld(t, { database });
  assert.deepEqual(readdirSync(caches), []);
  const listed = expect(await here.call("viewer", "GET", `/v1/projects/${id}/environments`), 200);
  assert.match(listed.data[0].url, /^http:\/\/production-web\.localhost:\d+$/);
  const { data } = expect(await here.call("viewer", "GET", "/v1/deployments"), 200);
  const { id: back } = expect(await here.call("developer", "POST", `/v1/deployments/${data[0].id}/rollback`), 201);
  assert.equal((await endOf(here, "viewer", back)).status, "failed");
  assert.match(String(await here.messages(back)), /was deployed without a runtime, so its commit is unknown/);
  here.repos.commit("acme/web", { "index.html": "real" });
  const { status } = await here.release(id);
  assert.deepEqual([status, await here.ask(host)], ["active", "200 real"]);
  assert.deepEqual(readdirSync(join(caches, id)).sort(), ["git", "packages-production"]);

  await assert.rejects(here.service.fork(), /running apps cannot be copied or reset/);
  await assert.rejects(here.service.snapshot(), /start without --runtime/);
  await assert.rejects(here.service.reset(), /start without --runtime/);
});

test("A pushed commit is built wherever its branch is; a pruned release is built again from its commit", async (t) => {
  const database = join(temporaryFolder(t), "svc.db");
  const here = await runtimeWorld(t, { database, deployments: { keep: 2, isolation: "none" } });
  const { id } = await here.project("web");
  const mark = `mark${process.pid}`;
  const files = { "svc.json": { start: `node server.js ${mark}` } };
  const [one, two] = ["one", "two", "three"].map((version) =>
    here.repos.commit("acme/web", { ...app(version), ...files }),
  );
  const config = { repo: "acme/web", branch: "main", environment: "production" };
  const connection = { type: "code_host", config };
  const { id: integration } = expect(await here.call("owner", "POST", "/v1/integrations", connection), 201);
  const push = async (after: string | undefined) => {
    const body = { ref: "refs/heads/main", after, repository: { full_name: "acme/web" } };
    const path = `/hooks/code-host/${integration}`;
    const { data } = expect(await here.call("nobody", "POST", path, body, { "x-github-event": "push" }), 202);
    return endOf(here, "viewer", data[0].deployment_id);
  };
  const first = await push(one);
  assert.deepEqual([first.status, first.version, await here.ask(host)], ["active", one, "200 one"]);
  const second = await push(two);
  assert.deepEqual([second.status, second.version, await here.ask(host)], ["active", two, "200 two"]);
  assert.equal((await here.release(id)).status, "active");
  assert.equal(await here.ask(host), "200 three");

  // The answer comes first; the folder goes afterwards.
  const stored = (kind: string) => readdirSync(join(`${database}-apps`, kind));
  await until(
    () => !stored("releases").includes(first.id),
    () => here.ask(host),
  );
  const { id: back } = expect(await here.call("developer", "POST", `/v1/deployments/${second.id}/rollback`), 201);
  const restored = await endOf(here, "viewer", back);
  assert.deepEqual([restored.status, restored.version, await here.ask(host)], ["active", one, "200 one"]);
  assert.equal(processesWith(mark).length > 0, true);
  assert.ok((await here.messages(back)).includes(`Fetching acme/web, commit ${one}`));

  // A deleted project leaves no process, host or file.
  assert.equal(expect(await here.call("owner", "DELETE", `/v1/projects/${id}`), 204), undefined);
  assert.match(await here.ask(host), /^404 /);
  await until(
    () => stored("releases").length + stored("cache").length === 0,
    () => here.ask(host),
  );
  assert.deepEqual(processesWith(mark), []);
});

test("A domain belongs to one environment, until it is removed there", async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  const put = (name: string, domains: readonly string[]) =>
    here.call("developer", "PUT", `/v1/projects/${id}/environments/${name}`, { variables: {}, domains });
  const domains = ["www.acme.test"];
  for (const _ of [1, 2]) assert.deepEqual(expect(await put("production", domains), 200).domains, domains);
  const taken = await put("staging", domains);
  assert.deepEqual([taken.status, taken.body.error.code], [409, "domain_taken"]);
  assert.equal((await put("staging", ["x.localhost"])).body.error.details[0].path, "domains.0");
  expect(await put("production", []), 200);
  assert.deepEqual(expect(await put("staging", domains), 200).domains, domains);
  const path = `/v1/projects/${id}/environments/staging`;
  assert.deepEqual(expect(await here.call("developer", "PUT", path, { variables: {} }), 200).domains, domains);
});

test("Where bubblewrap does not work, the start fails and says how to get it, or to choose none by name", {
  skip: noSandbox,
}, (t) => {
  const folder = temporaryFolder(t);
  // A sandbox that forbids nested sandboxes.
  const outer = ["--unshare-user", "--disable-userns", "--dev-bind", "/", "/", "--tmpfs", "/run", "--"];
  const words = ["dev", "--port", "0", "--apps-port", "0", "--runtime", "process", "--repos", folder];
  const { status, stderr } = spawnSync("bwrap", [...outer, process.execPath, program, ...words], {
    encoding: "utf8",
    cwd: folder,
    timeout: 60_000,
  });
  assert.notEqual(status, 0);
  assert.match(stderr, /bubblewrap does not work here \(.+\); install it \(apt-get install bubblewrap\)/);
  assert.match(stderr, /or choose the option deployments\.isolation "none"/);
});
