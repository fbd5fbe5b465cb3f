import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { endOf } from "../helpers/deployments.ts";
import { run, temporaryFolder } from "../helpers/program.ts";
import { repositories } from "../helpers/repositories.ts";
import { runtimeWorld } from "../helpers/running-apps.ts";
import { expect, keyOf } from "../helpers/test-service.ts";
import { until } from "../helpers/until.ts";

test("repositories lie beside the database, a backup has them while pushes go on, and a restore brings them back", async (t) => {
  const folder = temporaryFolder(t);
  const database = join(folder, "svc.db");
  const work = repositories(t);
  const first = work.commit("me/hello", { "index.html": "one" });
  const start = async () => {
    const here = await runtimeWorld(t, { database });
    return { ...here, url: (await here.service.listen()).url };
  };
  const here = await start();
  const address = (url: string) => `${url.replace("//", `//me:${keyOf("owner")}@`)}/git/me/hello.git`;
  await work.ask("me/hello", "push", "--quiet", address(here.url), "main");
  // A copy leaves out what an unfinished or killed push wrote.
  const [organization = ""] = readdirSync(`${database}-repositories`).filter((name) => name.startsWith("org_"));
  const stored = join(`${database}-repositories`, organization, "me/hello.git");
  mkdirSync(join(stored, "objects/tmp_objdir-incoming-x"));
  writeFileSync(join(stored, "refs/heads/main.lock"), "");

  mkdirSync(join(folder, "copies"));
  const copy = join(folder, "copies/copy.db");
  const backed = run(["backup", copy, "--database", database]);
  assert.equal(backed.status, 0, backed.stderr);
  const copied = join(`${copy}-repositories`, organization, "me/hello.git");
  assert.equal(execFileSync("git", ["--git-dir", copied, "rev-parse", "main"], { encoding: "utf8" }).trim(), first);
  execFileSync("git", ["--git-dir", copied, "fsck", "--full", "--strict"], { stdio: "pipe" });
  assert.deepEqual(readdirSync(join(copied, "refs/heads")), ["main"]);
  assert.match(
    readFileSync(`${copy}.sha256`, "utf8"),
    /copy\.db-repositories\/org_\w+\/me\/hello\.git\/refs\/heads\/main$/m,
  );
  execFileSync("sha256sum", ["--check", "--quiet", "copy.db.sha256"], { cwd: join(folder, "copies") });

  // The next push clears what a killed push left, and updates the branch.
  work.commit("me/hello", { "index.html": "two" });
  await work.ask("me/hello", "push", "--quiet", address(here.url), "main");
  assert.deepEqual(
    readdirSync(join(stored, "objects")).filter((name) => name.startsWith("tmp_")),
    [],
  );
  assert.equal(await here.ask("production-hello.localhost"), "200 two");
  await here.service.close();

  rmSync(`${database}-repositories`, { recursive: true });
  const restored = run(["restore", "--force", "--database", database, copy]);
  assert.equal(restored.status, 0, restored.stderr);
  const after = await start();
  assert.equal(work.git("me/hello", "log", "-1", "--format=%s", first), "change");
  const { data } = expect(await after.call("owner", "GET", "/v1/projects"), 200);
  const { id } = data.find(({ name }: { name: string }) => name === "hello");
  const again = await after.release(id, { repo: "me/hello" }, "staging");
  assert.deepEqual([again.status, again.version], ["active", first]);
  await after.service.close();
});

test("a repository here comes before the code host's, for its organization alone, and a pinned commit finds its way", async (t) => {
  const here = await runtimeWorld(t);
  const { url } = await here.service.listen();
  const hosted = here.repos.commit("acme/web", { "index.html": "code host" });
  const { id } = await here.project("web");
  const before = await here.release(id);
  assert.equal(await here.ask("production-web.localhost"), "200 code host");
  const work = repositories(t);
  work.commit("acme/web", { "index.html": "ours" });
  await work.ask(
    "acme/web",
    "push",
    "--quiet",
    `${url.replace("//", `//me:${keyOf("owner")}@`)}/git/acme/web.git`,
    "main",
  );
  assert.equal(await here.ask("production-web.localhost"), "200 ours");
  assert.equal((await here.release(id)).status, "active");
  assert.equal(await here.ask("production-web.localhost"), "200 ours");
  // The first release came from the code host's repository; our copy does not have its commit.
  assert.equal(before.version, hosted);
  const other = expect(await here.call("stranger", "POST", "/v1/projects", { name: "web", region: "local" }), 201);
  const order = { project_id: other.id, environment: "other", source: { type: "git", repo: "acme/web" } };
  const theirs = expect(await here.call("stranger", "POST", "/v1/deployments", order), 201);
  await endOf(here, "stranger", theirs.id);
  assert.equal(await here.ask("other-web.localhost"), "200 code host");
});

test("many pushes leave few packs, and a commit that no branch has any more", async (t) => {
  const database = join(temporaryFolder(t), "svc.db");
  const here = await runtimeWorld(t, { database });
  const { url } = await here.service.listen();
  const work = repositories(t);
  const address = `${url.replace("//", `//me:${keyOf("owner")}@`)}/git/me/hello.git`;
  const folder = () => {
    const [organization = ""] = readdirSync(`${database}-repositories`).filter((name) => name.startsWith("org_"));
    return join(`${database}-repositories`, organization, "me/hello.git");
  };
  const packs = () => readdirSync(join(folder(), "objects/pack")).filter((name) => name.endsWith(".pack")).length;
  const first = work.commit("me/hello", { "index.html": "0" });
  // A branch that does not deploy.
  const push = () => work.ask("me/hello", "push", "--quiet", "--force", address, "main:refs/heads/other");
  await push();
  work.git("me/hello", "checkout", "--quiet", "--orphan", "new");
  work.git("me/hello", "branch", "--quiet", "-D", "main");
  work.git("me/hello", "branch", "--quiet", "-m", "main");
  for (let i = 1; i < 20; i++) {
    work.commit("me/hello", { "index.html": `${i}` });
    await push();
  }
  await until(
    () => packs() === 1,
    () => here.call("viewer", "GET", "/healthz"),
  );
  execFileSync("git", ["--git-dir", folder(), "fsck", "--full"], { stdio: "pipe" });
  assert.equal(execFileSync("git", ["--git-dir", folder(), "cat-file", "-t", first], { encoding: "utf8" }), "commit\n");
});
