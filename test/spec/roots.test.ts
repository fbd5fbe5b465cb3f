import assert from "node:assert/strict";
import { test } from "node:test";
import { expect, type World, world } from "../helpers/test-service.ts";

const [before, after] = ["1".repeat(40), "2".repeat(40)];
const config = { repo: "acme/web", branch: "main", environment: "production" };

const changes = (
  modified: readonly string[],
  added: readonly string[] | null = [],
  removed: readonly string[] = [],
) => ({
  commits: [{ id: after, modified, added, removed }],
});
const pushed = (more: object) => ({
  ...{ ref: "refs/heads/main", before, after, repository: { full_name: "acme/web" }, created: false, forced: false },
  ...more,
});

/** Posts a push to an integration; returns the number of deployments it made. */
async function deployedBy(here: World, integration: string, body: object, headers = { "x-github-event": "push" }) {
  const path = `/hooks/code-host/${integration}`;
  return expect(await here.call("nobody", "POST", path, body, headers), 202).data.length;
}

const connect = async (here: World, more: object = {}) =>
  expect(
    await here.call("owner", "POST", "/v1/integrations", { type: "code_host", config: { ...config, ...more } }),
    201,
  ).id;

for (const place of ["environment", "integration"] as const)
  test(`A push that changes nothing below the root of the ${place} deploys nothing`, async (t) => {
    const here = await world(t);
    const { id: project } = await here.project();
    const root = "apps/web";
    const put = `/v1/projects/${project}/environments/production`;
    if (place === "environment") {
      const made = expect(await here.call("owner", "PUT", put, { variables: {}, root }), 200);
      assert.equal(made.root, root);
      assert.equal(expect(await here.call("owner", "PUT", put, { variables: { A: "1" } }), 200).root, root, "it stays");
    }
    const id = await connect(here, place === "integration" ? { root } : {});
    const count = (more: object) => deployedBy(here, id, pushed(more));
    assert.equal(await count(changes(["docs/index.md"], null, ["apps/website/a.js"])), 0);
    assert.equal(await count(changes(["apps/web"])), 0, "a file of that name is not the folder");
    assert.equal(await count(changes([], [], ["apps/web/old.js"])), 1);
    assert.equal(await count(changes(["docs/a.md"], ["apps/web/src/new.js"])), 1);
    assert.equal(await count(changes(Array(5_000).fill("docs/a.md"), Array(5_000).fill("docs/b.md"))), 0);
    // Pushes whose changed files are unknown.
    for (const unknown of [
      { commits: [] },
      { commits: [{ id: after }] },
      { ...changes(["docs/a.md"]), forced: true },
      { ...changes(["docs/a.md"]), created: true },
      { ...changes(["docs/a.md"]), before: "0".repeat(40) },
      { ...changes(["docs/a.md"]), total_commits: 40 },
      changes(Array(5_000).fill("docs/a.md"), Array(5_001).fill("docs/b.md")),
    ])
      assert.equal(await count(unknown), 1, JSON.stringify(unknown).slice(0, 200));
    assert.equal(await count({ ref: "refs/tags/v1", ...changes(["docs/a.md"]) }), 1);
    const { repository: _, ...gitlab } = pushed({
      project: { path_with_namespace: "acme/web" },
      total_commits_count: 1,
    });
    const headers = { "x-github-event": "", "x-gitlab-event": "Push Hook" };
    assert.equal(await deployedBy(here, id, { ...gitlab, ...changes(["docs/a.md"]) }, headers), 0);
    assert.equal(await deployedBy(here, id, { ...gitlab, ...changes(["apps/web/a"]) }, headers), 1);

    if (place === "environment") {
      expect(await here.call("owner", "PUT", put, { variables: {}, root: null }), 200);
      assert.equal(await count(changes(["docs/index.md"])), 1);
    }
  });

test("A root is a folder of the repository, and nothing else", async (t) => {
  const here = await world(t);
  const { id } = await here.project();
  const put = `/v1/projects/${id}/environments/production`;
  const wrong = [
    "",
    "/",
    "/apps",
    "apps/",
    "apps//web",
    "..",
    "../web",
    "apps/../web",
    "apps/..",
    ".",
    "./apps",
    "a\\b",
  ];
  for (const root of [...wrong, "a\u0000b", "a\ud800", "a\nb", "a".repeat(256), 1, ["apps"], {}]) {
    const refused = expect(await here.call("owner", "PUT", put, { variables: {}, root }), 422);
    assert.equal(refused.error.details[0].path, "root", JSON.stringify(root));
    const body = { type: "code_host", config: { ...config, root } };
    expect(await here.call("owner", "POST", "/v1/integrations", body), 422);
  }
  for (const root of ["apps/web", "..web", "a/.b", "web app", "ü/é", ".config"]) {
    assert.equal(expect(await here.call("owner", "PUT", put, { variables: {}, root }), 200).root, root);
    await connect(here, { root });
  }
});
