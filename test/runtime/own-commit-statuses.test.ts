import assert from "node:assert/strict";
import { test } from "node:test";
import { codeHost } from "../helpers/code-host.ts";
import { gitHost } from "../helpers/git-host.ts";
import { repositories } from "../helpers/repositories.ts";
import { expect } from "../helpers/test-service.ts";
import { until } from "../helpers/until.ts";

test("the code host learns of its own commits, also if a repository of that name was pushed here, and of no other", async (t) => {
  const hosted = repositories(t);
  const host = await codeHost(t, "github");
  const { api, token } = host.options;
  const url = `file://${hosted.root}/{repo}/.git`;
  const here = await gitHost(t, { codeHost: { url, api, token, organizations: { acme: ["acme/*"] } } });
  const { id: project_id } = await here.project("web");
  const config = { repo: "acme/web", branch: "trunk", environment: "staging", project_id };
  const { id } = expect(await here.call("owner", "POST", "/v1/integrations", { type: "code_host", config }), 201);
  const told = (commit: string) => host.statuses.filter((one) => one.commit === commit).map(({ state }) => state);
  const hook = async (files: Record<string, string>) => {
    const commit = hosted.commit("acme/web", files);
    const body = { ref: "refs/heads/trunk", after: commit, repository: { full_name: "acme/web" } };
    const headers = { "x-github-event": "push" };
    assert.equal(
      expect(await here.call("nobody", "POST", `/hooks/code-host/${id}`, body, headers), 202).data.length,
      1,
    );
    await until(
      () => told(commit).includes("success"),
      () => here.call("viewer", "GET", "/v1/deployments"),
    );
  };

  // A push that stores nothing makes the repository here.
  const empty = await here.pushNothing("acme/web");
  assert.equal(empty.status, 200);
  await hook({ "index.html": "one" });
  const own = here.repos.commit("acme/web", { "index.html": "ours" });
  const pushed = await here.push("acme/web", "owner");
  assert.match(pushed.text, /^remote: Live at /m);
  await hook({ "index.html": "two" });
  assert.deepEqual(told(own), []);
});
