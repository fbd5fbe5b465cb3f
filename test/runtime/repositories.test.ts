import assert from "node:assert/strict";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { pathsOf } from "../helpers/deployments.ts";
import { gitHost } from "../helpers/git-host.ts";
import { temporaryFolder } from "../helpers/program.ts";
import { expect, keyOf, type Who } from "../helpers/test-service.ts";

const path = "/v1/repositories/me/hello";

/** A service with the repository me/hello, whose default branch is master, and no project for it. */
async function desk(t: TestContext) {
  const folder = temporaryFolder(t);
  const here = await gitHost(t, { repositories: { folder } });
  const list = async (who: Who = "viewer") => expect(await here.call(who, "GET", "/v1/repositories"), 200).data;
  const push = async (code: number, ...refs: string[]) => {
    const pushed = await here.run("me/hello", ["push", here.urlOf("Me/Hello", keyOf("developer")), ...refs]);
    assert.equal(pushed.code, code, pushed.text);
    return pushed.text;
  };
  const patch = (default_branch: unknown, at = path, who: Who = "developer") =>
    here.call(who, "PATCH", at, { default_branch });
  assert.deepEqual(await list(), []);
  here.repos.commit("me/hello", { "index.html": "one" });
  await push(0, "main:master", "main:v");
  return { folder, here, list, push, patch };
}

test("repositories are listed, and nobody else changes them", async (t) => {
  const { here, list, patch } = await desk(t);
  const [one, ...others] = await list();
  assert.deepEqual(others, []);
  assert.deepEqual([one.name, one.default_branch], ["me/hello", "master"]);
  assert.ok(one.size > 100, `${one.size}`);
  assert.match(one.pushed_at, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  assert.deepEqual(await list("stranger"), []);

  for (const [branch, message] of [
    ["main", /must be a branch of the repository, which has master, v; push it first/],
    ["a..b", /git allows/],
    ["-x", /hyphen/],
    [null, /must be/],
    [7, /must be/],
  ] as const) {
    const refused = expect(await patch(branch), 422);
    assert.deepEqual(pathsOf(refused), ["default_branch"]);
    assert.match(refused.error.message, message);
  }
  for (const at of ["/v1/repositories/me/other", "/v1/repositories/.host/empty", "/v1/repositories/me/..%2f..%2fx"]) {
    expect(await patch("main", at), 404);
    expect(await here.call("developer", "DELETE", at), 404);
  }
  expect(await patch("main", path, "stranger"), 404);
  expect(await here.call("stranger", "DELETE", path), 404);
  assert.deepEqual(await list(), [one]);
});

test("a repository gets another default branch, and is deleted", async (t) => {
  const { folder, here, list, push, patch } = await desk(t);
  // A rename from master to main, as people do it.
  assert.match(await push(1, ":master"), /deletion of the current branch prohibited/);
  assert.match(await push(0, "main"), /The branch main deploys nothing.*default_branch=main/);
  assert.equal(expect(await patch("main", "/v1/repositories/Me/Hello"), 200).default_branch, "main");
  await push(0, ":master");
  expect(await here.call("owner", "POST", "/v1/projects", { name: "hello", region: "local" }), 201);
  here.repos.commit("me/hello", { "index.html": "two" });
  assert.match(await push(0, "main"), /remote: Live at /);

  // A default branch that does not exist, as after a copy by hand: the next push of main takes its place.
  const [organization = ""] = [(await here.call("owner", "GET", "/v1/me")).body.organization.id];
  const stored = join(folder, organization, "me/hello.git");
  here.repos.git("me/hello", "--git-dir", stored, "symbolic-ref", "HEAD", "refs/heads/gone");
  rmSync(join(stored, "pushed"));
  const [lost] = await list();
  assert.deepEqual([lost.default_branch, lost.pushed_at], [null, null]);
  here.repos.commit("me/hello", { "index.html": "three" });
  assert.match(await push(0, "main"), /remote: Live at /);
  assert.equal((await list())[0].default_branch, "main");

  expect(await here.call("developer", "DELETE", path), 204);
  assert.deepEqual(await list(), []);
  expect(await here.call("developer", "DELETE", path), 404);
  const entries = expect(await here.call("owner", "GET", "/v1/audit-log?per_page=100"), 200)
    .data.filter(({ action }: { action: string }) => action.startsWith("repositories."))
    .map(({ action, target }: Record<string, string>) => [action, target]);
  assert.deepEqual(entries, [
    ["repositories.delete", "me/hello"],
    ["repositories.update", "Me/Hello"],
  ]);
  // What runs stays, and the next push makes the repository again.
  assert.equal(await here.ask("production-hello.localhost"), "200 three");
  await push(0, "main:again");
  assert.deepEqual((await list())[0].default_branch, "again");
});

test("a file that is in the way of a change is told, and costs no deployment of a push", async (t) => {
  const { folder, list, push, patch } = await desk(t);
  const [organization = ""] = readdirSync(folder).filter((name) => name.startsWith("org_"));
  const stored = join(folder, organization, "me/hello.git");
  writeFileSync(join(stored, "HEAD.lock"), "");
  assert.equal((await patch("v")).status, 500);
  assert.equal((await list())[0].default_branch, "master");

  rmSync(join(stored, "HEAD.lock"));
  rmSync(join(stored, "pushed"));
  mkdirSync(join(stored, "pushed"));
  assert.match(await push(0, "main:w"), /The branch w deploys nothing/);
});
