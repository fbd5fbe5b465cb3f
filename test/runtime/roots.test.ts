import assert from "node:assert/strict";
import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { endOf } from "../helpers/deployments.ts";
import { temporaryFolder } from "../helpers/program.ts";
import { app, runtimeWorld, server } from "../helpers/running-apps.ts";
import { expect, keyOf } from "../helpers/test-service.ts";

const host = "production-web.localhost";

test("A root is the folder that is built and run, and a rollback keeps that of its release", async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  const put = (root: string | null) =>
    here.call("developer", "PUT", `/v1/projects/${id}/environments/production`, { variables: {}, root });
  expect(await put("apps/api"), 200);
  here.repos.commit("acme/web", {
    ...app("top"),
    "apps/api/package.json": { scripts: { build: "cp ../../shared.txt ." } },
    "apps/api/server.js": server("api").replace(`"api")`, `require("node:fs").readFileSync("shared.txt", "utf8"))`),
    "apps/api/Procfile": "release: test -f shared.txt && echo released\njob: sleep 1000\n",
    "apps/site/svc.json": { build: "mkdir -p dist && cp page.html dist/index.html" },
    "apps/site/page.html": "site",
    "shared.txt": "shared",
  });
  const first = await here.release(id);
  const messages = (await here.messages(first.id)).join("\n");
  assert.equal(first.status, "active", messages);
  assert.match(messages, /^Building the folder apps\/api$/m);
  assert.match(messages, /^released$/m);
  assert.equal(await here.ask(host), "200 shared");
  const shown = expect(await here.call("viewer", "GET", `/v1/projects/${id}/environments`), 200).data[0];
  assert.deepEqual([shown.root, shown.workers], ["apps/api", ["job"]]);

  expect(await put("apps/site"), 200);
  assert.equal(expect(await here.call("developer", "POST", `${restart(id)}`), 200).root, "apps/site");
  assert.equal(await here.ask(host), "200 shared", "a restart starts what was built");
  const second = await here.release(id);
  assert.equal(second.status, "active", (await here.messages(second.id)).join("\n"));
  assert.equal(await here.ask(host), "200 site");
  assert.match(await here.ask(host, "/../server.js"), /^404/);

  const { id: back } = expect(await here.call("developer", "POST", `/v1/deployments/${second.id}/rollback`), 201);
  assert.equal((await endOf(here, "developer", back)).status, "active");
  assert.equal(await here.ask(host), "200 shared");
  expect(await put(null), 200);
  assert.equal((await here.release(id)).status, "active");
  assert.equal(await here.ask(host), "200 top");
});

const restart = (id: string) => `/v1/projects/${id}/environments/production/restart`;

test("Where the top has nothing to run, the reason names the folders that have", async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  here.repos.commit("acme/web", {
    "apps/api/package.json": {},
    "node_modules/acme/package.json": {},
    "site/Procfile": "web: true\n",
    "docs/readme.md": "none",
  });
  const { id: release, status } = await here.release(id);
  assert.equal(status, "failed");
  assert.match(
    (await here.messages(release)).join("\n"),
    /nothing to run was found: .* There may be apps in apps\/api, site: set root/,
  );
});

test("A root that is no folder of the repository is the reason", async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  const outside = temporaryFolder(t);
  here.repos.commit("acme/web", { ...app("top"), "apps/file": "text" });
  const folder = join(here.repos.root, "acme/web");
  mkdirSync(join(folder, "apps"), { recursive: true });
  symlinkSync(outside, join(folder, "apps/out"));
  here.repos.commit("acme/web", {});
  for (const root of ["apps/none", "apps/file", "apps/out"]) {
    await here.call("developer", "PUT", `/v1/projects/${id}/environments/production`, { variables: {}, root });
    const failed = await here.release(id);
    assert.equal(failed.status, "failed", root);
    const reason = `the repository has no folder ${root}, which is the root of the environment or integration`;
    assert.ok((await here.messages(failed.id)).includes(reason), root);
  }
});

test("A push here that changes nothing below the root deploys nothing, and says so", async (t) => {
  const here = await runtimeWorld(t);
  const { port } = await here.service.listen();
  const url = `http://me:${keyOf("owner")}@127.0.0.1:${port}/git/me/hello.git`;
  here.repos.commit("me/hello", { ...app("top"), ...site("one") });
  await here.repos.ask("me/hello", "push", "--quiet", url, "main");
  const count = async () => expect(await here.call("viewer", "GET", "/v1/deployments"), 200).data.length;
  const [{ id }] = expect(await here.call("viewer", "GET", "/v1/projects"), 200).data;
  const root = "site";
  expect(
    await here.call("developer", "PUT", `/v1/projects/${id}/environments/production`, { variables: {}, root }),
    200,
  );
  assert.equal(await count(), 1);
  for (const [files, expected] of [
    [{ "README.md": "more" }, 1],
    [site("two"), 2],
    [{ "README.md": "other", "sites/index.html": "no" }, 2],
    // More names than are looked at: it may have changed.
    [Object.fromEntries(Array.from({ length: 1_600 }, (_, i) => [`${"x".repeat(180)}${i}`, ""])), 3],
  ] as const) {
    here.repos.commit("me/hello", files);
    await here.repos.ask("me/hello", "push", "--quiet", url, "main");
    assert.equal(await count(), expected);
  }
  assert.equal(await here.ask("production-hello.localhost"), "200 two");
  // A push that names an environment deploys in any case.
  here.repos.commit("me/hello", { "README.md": "last" });
  await here.repos.ask("me/hello", "push", "--quiet", "-o", "environment=production", url, "main");
  assert.equal(await count(), 4);
  assert.ok(existsSync(join(here.repos.root, "me/hello/site/index.html")));
});

const site = (text: string) => ({ "site/index.html": text });
