import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { program, temporaryFolder } from "../helpers/program.ts";
import { app, runtimeWorld } from "../helpers/running-apps.ts";
import { expect, keyOf } from "../helpers/test-service.ts";

/** Runs a command while this process serves. */
const command = (url: string, words: readonly string[], key = keyOf("owner"), cwd?: string) =>
  new Promise<{ code: number | null; out: string; errors: string }>((resolve) => {
    const child = spawn(process.execPath, [program, ...words], {
      cwd,
      env: { ...process.env, SVC_URL: url, SVC_API_KEY: key },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let [out, errors] = ["", ""];
    child.stdout.on("data", (chunk) => {
      out += chunk;
    });
    child.stderr.on("data", (chunk) => {
      errors += chunk;
    });
    child.once("close", (code) => resolve({ code, out, errors }));
  });

async function world(t: TestContext) {
  const here = await runtimeWorld(t);
  const { url } = await here.service.listen();
  const run = (words: readonly string[], key?: string, cwd?: string) => command(url, ["deploy", ...words], key, cwd);
  return { ...here, url, deploy: run };
}

/** Every file of a folder with its content and time. */
const stateOf = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .sort()
    .map((name) => [
      name,
      statSync(join(folder, name)).mtimeMs,
      statSync(join(folder, name)).isFile() && readFileSync(join(folder, name), "latin1"),
    ]);

test("a folder without a repository is deployed as .gitignore leaves it, and again after a change", async (t) => {
  const here = await world(t);
  const folder = join(temporaryFolder(t), "My Shop");
  mkdirSync(join(folder, "node_modules"), { recursive: true });
  for (const [name, text] of Object.entries({
    "index.html": "one",
    "secret.env": "hush",
    "node_modules/x.js": "1",
    ".gitignore": "*.env\n",
  }))
    writeFileSync(join(folder, name), text);
  const first = await here.deploy([folder]);
  assert.equal(first.code, 0, first.out + first.errors);
  assert.match(first.out, /^Live at http:\/\/production-my-shop\.localhost:\d+$/m);
  const host = "production-my-shop.localhost";
  assert.equal(await here.ask(host), "200 one");
  assert.match(await here.ask(host, "/secret.env"), /^404/);
  assert.match(await here.ask(host, "/node_modules/x.js"), /^404/);
  writeFileSync(join(folder, "index.html"), "two");
  const second = await here.deploy(["--environment", "staging", "--project", "MY-SHOP"], keyOf("developer"), folder);
  assert.equal(second.code, 0, second.out + second.errors);
  assert.equal(await here.ask("staging-my-shop.localhost"), "200 two");
  assert.equal(await here.ask(host), "200 one");
});

test("a repository is deployed as its last commit, and stays as it is", async (t) => {
  const here = await world(t);
  const commit = here.repos.commit("me/web", app("one"));
  const folder = join(here.repos.root, "me/web");
  writeFileSync(join(folder, "new.txt"), "not committed");
  const before = stateOf(folder);
  const { code, out, errors } = await here.deploy([folder, "--json"]);
  assert.equal(code, 0, out + errors);
  assert.equal(JSON.parse(out).version, commit);
  assert.match(errors, /uncommitted changes are not deployed/);
  assert.deepEqual(stateOf(folder), before);
  assert.equal(await here.ask("production-web.localhost"), "200 one");
  await here.printed(JSON.parse(out).project_id, /listening as one/);
  const printed = await command(here.url, ["logs"], undefined, folder);
  assert.deepEqual([printed.code, printed.errors], [0, ""]);
  assert.match(printed.out, /^\S+Z {2}info {3}listening as one\s*$/m);

  // A subfolder deploys like any folder; a checkout without history sends only its files.
  here.repos.commit("me/web", { "site/index.html": "site" });
  assert.equal((await here.deploy([join(folder, "site")])).code, 0);
  assert.equal(await here.ask("production-site.localhost"), "200 site");
  const shallow = join(temporaryFolder(t), "shallow");
  here.repos.git("me/web", "clone", "--quiet", "--depth=1", `file://${folder}`, shallow);
  assert.equal((await here.deploy([shallow])).code, 0);

  // A rewritten history replaces the stored one only with `--force`.
  here.repos.git("me/web", "reset", "--quiet", "--hard", "HEAD~1");
  await here.deploy([folder, "--force"]);
  here.repos.git("me/web", "commit", "--quiet", "--amend", "--allow-empty", "--message=another");
  const rejected = await here.deploy([folder]);
  assert.equal(rejected.code, 1);
  assert.match(
    rejected.errors,
    /the service's branch main has commits that this repository lacks; pull them, or deploy with --force/,
  );
  assert.equal((await here.deploy([folder, "--force"])).code, 0);
});

test("a repository is found whatever its path has, and one inside of a folder is named", async (t) => {
  const here = await world(t);
  here.repos.commit("me/web", app("one"));
  const folder = join(temporaryFolder(t), 'my: "new"\\app\nof a day');
  renameSync(join(here.repos.root, "me/web"), folder);
  const { code, out, errors } = await here.deploy([folder]);
  assert.equal(code, 0, out + errors);
  assert.equal(await here.ask("production-my-new-app-of-a-day.localhost"), "200 one");

  const outer = join(temporaryFolder(t), "outer");
  mkdirSync(outer);
  writeFileSync(join(outer, "index.html"), "outer");
  renameSync(folder, join(outer, "inner"));
  const parts = await here.deploy([outer]);
  assert.equal(parts.code, 0, parts.out + parts.errors);
  assert.match(parts.errors, /^svc-server: repositories inside of the folder are not deployed: inner$/m);
});

test("a commit that the service has is deployed again, to another environment too", async (t) => {
  const here = await world(t);
  here.repos.commit("me/web", app("one"));
  const folder = join(here.repos.root, "me/web");
  for (const environment of ["staging", "production", "staging"]) {
    const { code, out, errors } = await here.deploy([folder, "--environment", environment]);
    assert.equal(code, 0, out + errors);
    assert.match(out, new RegExp(`^Live at http://${environment}-web\\.localhost:\\d+$`, "m"));
    assert.equal(await here.ask(`${environment}-web.localhost`), "200 one");
  }
  const { data } = (await here.call("owner", "GET", "/v1/deployments")).body;
  assert.equal(data.length, 3);
});

test("what a build prints is never taken for the answer of the service", async (t) => {
  const here = await world(t);
  here.repos.commit("me/web", app("one"));
  const folder = join(here.repos.root, "me/web");
  const live = await here.deploy([folder, "--json"]);
  assert.equal(live.code, 0, live.out + live.errors);
  const said = `Deployment ${JSON.parse(live.out).id}: ${"0".repeat(12)} to production of web`;
  const build = `echo '${said}'; echo 'Everything up-to-date'; exit 3`;
  here.repos.commit("me/web", { "package.json": { scripts: { build, start: "node server.js" } } });
  const failed = await here.deploy([folder]);
  assert.ok(failed.out.includes(`\n${said}\n`), failed.out);
  assert.equal(failed.code, 1, failed.out + failed.errors);
});

test("no program that a repository's own settings name is run, nor one of a repository in it", async (t) => {
  const here = await world(t);
  here.repos.commit("me/inner", { "part.txt": "inner", ".gitattributes": "* filter=own" });
  here.repos.commit("me/web", { ...app("one"), ".gitattributes": "* filter=own", "site/index.html": "site" });
  const folder = join(here.repos.root, "me/web");
  const inner = join(folder, "inner");
  renameSync(join(here.repos.root, "me/inner"), inner);
  here.repos.git("me/web", "add", "inner");
  here.repos.git("me/web", "commit", "--quiet", "--message=inner");
  const marks = temporaryFolder(t);
  const mark = (name: string) => `touch ${join(marks, name)}; cat`;
  for (const [at, of] of [
    ["me/web", "outer"],
    ["me/web/inner", "inner"],
  ] as const)
    for (const name of ["filter.own.clean", "filter.own.process", "core.fsmonitor", "core.sshCommand"])
      here.repos.git(at, "config", name, mark(`${of}-${name}`));
  // Git reads files again whose time or size has changed.
  for (const path of ["server.js", "site/index.html", "inner/part.txt"])
    writeFileSync(join(folder, path), `${readFileSync(join(folder, path), "utf8")} `);
  const { code, out, errors } = await here.deploy([folder, "--json"]);
  assert.match(errors, /uncommitted changes are not deployed/);
  const ofFolder = await here.deploy([join(folder, "site")]);
  assert.deepEqual(readdirSync(marks), []);
  assert.equal(code, 0, out + errors);
  assert.equal(ofFolder.code, 0, ofFolder.out + ofFolder.errors);
});

test("a second working tree of a repository is deployed as its own last commit", async (t) => {
  const here = await world(t);
  here.repos.commit("me/web", app("one"));
  const other = join(temporaryFolder(t), "other");
  here.repos.git("me/web", "worktree", "add", "--quiet", "-b", "next", other);
  here.repos.commit("me/web", app("two"));
  here.repos.git("me/web", "pack-refs", "--all");
  const { code, out, errors } = await here.deploy([other, "--json"]);
  assert.equal(code, 0, out + errors);
  assert.equal(errors.includes("uncommitted changes"), false, errors);
  assert.equal(JSON.parse(out).version, here.repos.git("me/web", "rev-parse", "next").trim());
  assert.equal(await here.ask("production-other.localhost"), "200 one");
});

test("a failed build ends with 1, and so does what cannot be deployed, with the reason", async (t) => {
  const here = await world(t);
  here.repos.commit("me/web", { "package.json": { scripts: { build: "echo oh no; exit 3", start: "x" } } });
  const folder = join(here.repos.root, "me/web");
  const failed = await here.deploy([folder]);
  assert.equal(failed.code, 1, failed.out + failed.errors);
  assert.match(failed.out, /^oh no$/m);
  assert.match((await here.deploy([folder], "sk_live_demo_nobody_at_all")).errors, /SVC_API_KEY was refused/);
  assert.match(
    (await here.deploy([folder], keyOf("viewer"))).errors,
    /this needs the role owner or admin or developer/,
  );
  assert.match((await here.deploy([join(folder, "nowhere")])).errors, /nowhere is not a folder/);
  assert.match((await here.deploy([temporaryFolder(t)])).errors, /has no files that could be deployed/);
  const short = join(temporaryFolder(t), "a");
  mkdirSync(short);
  const tooShort = await here.deploy([short]);
  assert.deepEqual([tooShort.code, tooShort.out], [2, ""]);
  assert.match(tooShort.errors, /the name of the folder, a, is too short for a project; name one with --project/);
  const broken = join(temporaryFolder(t), "broken");
  mkdirSync(join(broken, ".git"), { recursive: true });
  assert.match((await here.deploy([broken])).errors, /broken cannot be read: not a git repository/);
  // A repository without one of its objects: git says so before the service misses them.
  here.repos.commit("me/lost", { "index.html": "one" });
  const lost = here.repos.git("me/lost", "rev-parse", "HEAD:index.html");
  rmSync(join(here.repos.root, "me/lost/.git/objects", lost.slice(0, 2), lost.slice(2)));
  assert.match(
    (await here.deploy([join(here.repos.root, "me/lost")])).errors,
    new RegExp(`the repository lacks a part of its commits \\(unable to read ${lost}\\); check it with git fsck`),
  );
  const other = await here.deploy([folder, "--project", "elsewhere"], keyOf("developer"));
  assert.equal(other.code, 1);
  assert.match(other.out, /there is no project elsewhere, and this key cannot create it/);
  expect(await here.call("owner", "POST", "/v1/projects", { name: "elsewhere", region: "local" }), 201);
  assert.equal((await here.deploy([folder, "--project", "elsewhere"], keyOf("developer"))).code, 1);
});

test("--root names the folder of the repository that is built, and the environment keeps it", async (t) => {
  const here = await world(t);
  here.repos.commit("me/mono", { "apps/site/index.html": "from apps/site", "index.html": "from the top" });
  const folder = join(here.repos.root, "me/mono");
  const refused = await here.deploy([folder, "--root", "../x"]);
  assert.equal(refused.code, 1);
  assert.match(refused.errors, /root must be a folder of the repository such as apps\/web/);
  assert.equal((await here.deploy([folder, "--root", "apps/site"])).code, 0);
  assert.equal(await here.ask("production-mono.localhost"), "200 from apps/site");
  assert.equal((await here.deploy([folder, "--root", "."])).code, 0);
  assert.equal(await here.ask("production-mono.localhost"), "200 from the top");
});
