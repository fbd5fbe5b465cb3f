import assert from "node:assert/strict";
import { test } from "node:test";
import { gitHost } from "../helpers/git-host.ts";
import { expect } from "../helpers/test-service.ts";

test("an integration that names the branch decides, also if it deploys nothing, and the push says why", async (t) => {
  const here = await gitHost(t);
  here.repos.commit("me/hello", { "site/index.html": "one" });
  const { id: project_id } = expect(
    await here.call("owner", "POST", "/v1/projects", { name: "shop", region: "local" }),
    201,
  );
  const connect = async (branch: string, more: object) => {
    const config = { repo: "me/hello", branch, environment: "live", project_id, secret: "hush-hush-hush", ...more };
    return expect(await here.call("owner", "POST", "/v1/integrations", { type: "code_host", config }), 201).id;
  };
  const deploysNothing = async (branch: string, why: string, repo = "me/hello") => {
    const { code, text } = await here.push("me/hello", "owner", `main:${branch}`, [], repo);
    assert.equal(code, 0, text);
    const line = `remote: The push is stored, but the integration ${repo} (${branch} → live) does not deploy it: ${why}`;
    const lines = text.split("\n").map((one) => one.trim());
    assert.deepEqual(
      lines.filter((one) => /^remote: ./.test(one)),
      [line],
    );
  };
  const main = await connect("main", { root: "site" });
  await connect("release", {});
  assert.match((await here.push("me/hello", "owner")).text, /^remote: Live at http:\/\/live-shop\.localhost/m);

  here.repos.commit("me/hello", { "README.md": "more" });
  await deploysNothing("main", "nothing changed below site, the root for live of shop");
  expect(await here.call("owner", "POST", `/v1/projects/${project_id}/archive`), 200);
  here.repos.commit("me/hello", { "site/index.html": "two" });
  for (const branch of ["main", "release"])
    await deploysNothing(branch, "the project shop is archived; unarchive it first");
  expect(await here.call("owner", "POST", `/v1/projects/${project_id}/unarchive`), 200);
  expect(await here.call("owner", "PATCH", `/v1/integrations/${main}`, { status: "inactive" }), 200);
  here.repos.commit("me/hello", { "site/index.html": "three" });
  await deploysNothing("main", "the integration is inactive");
  expect(await here.call("owner", "POST", "/v1/projects", { name: "second", region: "local" }), 201);
  await connect("main", { repo: "me/other", project_id: null });
  await deploysNothing("main", "the project is unknown; set project_id", "me/other");
  assert.equal(expect(await here.call("viewer", "GET", "/v1/projects"), 200).data.length, 2);
  assert.equal(expect(await here.call("viewer", "GET", "/v1/deployments"), 200).data.length, 1);
});
