import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { codeHost } from "../helpers/code-host.ts";
import { endOf } from "../helpers/deployments.ts";
import { temporaryFolder } from "../helpers/program.ts";
import { connectPreviews, hook, pullRequest } from "../helpers/pull-requests.ts";
import { repositories } from "../helpers/repositories.ts";
import { app, processesOf, runtimeWorld } from "../helpers/running-apps.ts";
import { expect } from "../helpers/test-service.ts";
import { until } from "../helpers/until.ts";

const preview = "pr-7-web.localhost";

/** An app that leaves a file in `/data`. */
const keeping = (version: string) => ({
  ...app(version),
  "server.js": `require("node:fs").writeFileSync(process.env.DATA_DIR + "/kept", "1");${app(version)["server.js"]}`,
});

test("a request runs at a host of its own, and app, data, host and what builds are gone soon after it closes", async (t) => {
  const repos = repositories(t);
  const host = await codeHost(t, "github");
  const database = join(temporaryFolder(t), "svc.db");
  const { api, token } = host.options;
  const url = `file://${repos.root}/{repo}/.git`;
  const organizations = { acme: ["acme/*"] };
  const here = await runtimeWorld(t, { database, codeHost: { url, api, token, organizations } });
  const { id: project_id } = await here.project("web");
  const path = `/v1/projects/${project_id}/environments`;
  const variables = { TOKEN: { value: "hush", secret: true } };
  expect(await here.call("owner", "PUT", `${path}/staging`, { variables }), 200);
  const id = await connectPreviews(here);
  repos.commit("acme/web", app("main"));
  repos.git("acme/web", "checkout", "--quiet", "-b", "topic");
  const ended = async (action: string, commit: string) => {
    const [{ deployment_id }] = expect(await hook(here, id, pullRequest(action, { commit })), 202).data;
    return endOf(here, "viewer", deployment_id);
  };
  const one = repos.commit("acme/web", keeping("one"));
  const first = await ended("opened", one);
  assert.deepEqual([first.status, first.version], ["active", one], String(await here.messages(first.id)));
  assert.equal(await here.ask(preview), "200 one");
  assert.equal(JSON.parse((await here.ask(preview, "/env")).slice(4)).TOKEN, "hush");
  await until(
    () => host.statuses.some(({ state, commit }) => state === "success" && commit === one),
    () => here.ask(preview),
  );
  assert.equal(host.statuses.find(({ state }) => state === "success")?.target_url, first.url);

  const two = repos.commit("acme/web", {
    "package.json": { name: "web", scripts: { build: "echo begun && sleep 100", start: "node server.js" } },
  });
  const [{ deployment_id }] = expect(await hook(here, id, pullRequest("synchronize", { commit: two })), 202).data;
  await here.logged(deployment_id, /begun/);
  const [folder = ""] = readdirSync(`${database}-data`);
  const data = join(`${database}-data`, folder, "of-pr-7");
  assert.ok(existsSync(join(data, "kept")));

  expect(await hook(here, id, pullRequest("closed", { commit: two })), 202);
  const cancelled = expect(await here.call("viewer", "GET", `/v1/deployments/${deployment_id}`), 200);
  assert.equal(cancelled.status, "cancelled");
  await until(
    () => !existsSync(data) && processesOf(first.id).length + processesOf(deployment_id).length === 0,
    () => here.ask(preview),
  );
  assert.match(await here.ask(preview), /^404 /);
  await until(
    () => host.statuses.some(({ state, commit }) => state === "failure" && commit === two),
    () => here.ask(preview),
  );
});

test("A preview builds the root of its integration, and a push of other folders deploys nothing", async (t) => {
  const repos = repositories(t);
  const here = await runtimeWorld(t, { codeHost: { url: `file://${repos.root}/{repo}/.git` } });
  const { id: project } = await here.project("web");
  const path = `/v1/projects/${project}/environments`;
  expect(await here.call("owner", "PUT", `${path}/staging`, { variables: {}, root: "apps/api" }), 200);
  const id = await connectPreviews(here, { root: "apps/site" });
  const page = (text: string) => ({ "apps/site/index.html": text });
  const before = repos.commit("acme/web", { ...app("top"), "apps/api/index.html": "api", ...page("main") });
  repos.git("acme/web", "checkout", "--quiet", "-b", "topic");
  const topic = repos.commit("acme/web", page("topic"));

  const [{ deployment_id }] = expect(await hook(here, id, pullRequest("opened", { commit: topic })), 202).data;
  const deployed = await endOf(here, "viewer", deployment_id);
  const messages = await here.messages(deployment_id);
  assert.equal(deployed.status, "active", messages.join("\n"));
  assert.ok(messages.includes("Building the folder apps/site"), messages.join("\n"));
  assert.equal(await here.ask(preview), "200 topic");
  const shown = expect(await here.call("viewer", "GET", path), 200).data;
  assert.equal(shown.find(({ name }: { name: string }) => name === "pr-7")?.root, "apps/site");

  const pushed = async (file: string) => {
    const commits = [{ id: topic, modified: [file], added: [], removed: [] }];
    const repository = { full_name: "acme/web" };
    const body = { ref: "refs/heads/main", before, after: topic, created: false, forced: false, repository, commits };
    return expect(await hook(here, id, body, { "x-github-event": "push" }), 202).data.length;
  };
  assert.equal(await pushed("apps/api/index.html"), 0, "the root of the environment does not count");
  assert.equal(await pushed("apps/site/index.html"), 1);
});
