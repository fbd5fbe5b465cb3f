import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createService } from "../../lib/index.ts";
import { temporaryFolder } from "../helpers/program.ts";
import { type Files, repositories, serveRepositories } from "../helpers/repositories.ts";
import { app, noSandbox, processesOf, processesWith, runtimeWorld } from "../helpers/running-apps.ts";
import { until } from "../helpers/until.ts";

const host = "production-web.localhost";
const isLong = process.env["TEST_LONG"] !== undefined;

test("A code host is https, http, ssh or file, and names the place of the repository", async () => {
  for (const url of ["ext::sh -c touch% /x {repo}", "https://git.test/fixed.git", "git://git.test/{repo}", "{repo}"])
    await assert.rejects(createService({ codeHost: { url } }), /codeHost\.url must be a URL with \{repo\} in it/);
  for (const [options, rule] of [
    [{ clock: "manual" }, /clock must be real with the runtime process/],
    [{ clock: "60x" }, /clock must be real/],
    [
      { deployments: { runtime: "kubernetes" as "process" } },
      /runtime must be simulated, or a list of process and engine/,
    ],
    [
      { deployments: { runtime: ["process", "simulated"] } },
      /runtime must be simulated, or a list of process and engine/,
    ],
    [{ mode: "start", codeHost: { repos: "/srv" } }, /repos is for the mode dev/],
  ] as const)
    await assert.rejects(createService({ deployments: { runtime: "process" }, ...options } as object), rule);
});

test("Hostile repositories: what they name is not run, read or served", { skip: noSandbox }, async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  const image = { type: "image", image_url: "acme/web:1" };
  const refused = await here.call("developer", "POST", "/v1/deployments", {
    ...{ project_id: id, environment: "production", source: image },
  });
  assert.deepEqual([refused.status, refused.body.error.details[0].path], [422, "source.type"]);

  const { root } = here.repos;
  here.repos.commit("acme/web", {
    ".gitmodules": `[submodule "x"]\n\tpath = x\n\turl = ext::sh -c "touch ${root}/owned"\n`,
    ".env": "TOKEN=1",
    "public/index.html": "home",
    "public/.env": "TOKEN=2",
  });
  for (const [name, target] of [
    ["public/passwd", "/etc/passwd"],
    ["public/up", "../../.."],
    ["package.json", "/etc/passwd"],
    ["Procfile", "/dev/zero"],
    [".gitattributes", "/dev/zero"],
    // Whether a file outside exists shows nowhere.
    ["Dockerfile", "/etc/shadow"],
    ["requirements.txt", "/etc/shadow"],
    ["go.mod", "/etc/shadow"],
  ] as const)
    symlinkSync(target, join(root, "acme/web", name));
  here.repos.commit("acme/web", {});
  const site = await here.release(id);
  assert.equal(site.status, "active", String(await here.messages(site.id)));
  const said = await here.messages(site.id);
  assert.doesNotMatch(said.join("\n"), /Found|Dockerfile/);
  assert.equal(await here.ask(host), "200 home");
  for (const path of ["/passwd", "/up/etc/passwd", "/.env", "/../.env", "/%2e%2e/.env", "/..%2f.env", "/.git/config"])
    assert.match(await here.ask(host, path), /^404 /, path);
  for (const path of ["/%00", "/%zz"]) assert.match(await here.ask(host, path), /^400 /, path);

  // The build sees neither the server's environment nor its files.
  process.env["SVC_TEST_CANARY"] = "canary-of-the-server";
  t.after(() => delete process.env["SVC_TEST_CANARY"]);
  const look = `cat /proc/[0-9]*/environ | tr '\\0' '\\n'; ls ${root} /root /home; touch /usr/x; unshare -U true`;
  here.repos.git("acme/web", "rm", "--quiet", "-r", ".");
  here.repos.commit("acme/web", { "svc.json": { build: `${look}; echo looked`, start: "node x" }, x: "" });
  const lines = await here.messages((await here.release(id)).id);
  assert.ok(lines.includes("looked"), String(lines));
  assert.doesNotMatch(lines.join("\n"), /canary-of-the-server/);
  for (const line of [
    `ls: cannot access '${root}': No such file or directory`,
    "touch: cannot touch '/usr/x': Read-only file system",
  ])
    assert.ok(lines.includes(line), line);
  assert.equal(await here.ask(host), "200 home");
});

test("A repository that is not there, private, or without the ref fails with its reason, and asks nobody", async (t) => {
  const repos = repositories(t);
  repos.commit("acme/web", app("one"));
  repos.commit("acme/private", app("one"));
  const url = await serveRepositories(t, repos.root, { token: "another-token" });
  const here = await runtimeWorld(t, { codeHost: { url, token: "hush-token", organizations: { acme: ["*"] } } });
  const local = await runtimeWorld(t);
  local.repos.commit("acme/web", app("one"));
  const { id } = await here.project("web");
  const { id: own } = await local.project("web");
  const cases = [
    [here, id, {}, /acme\/web cannot be read: the code host refuses the credential; correct codeHost\.token/],
    [local, own, { repo: "acme/none" }, /no repository acme\/none in /],
    [local, own, { branch: "nowhere" }, /acme\/web has no commit at the branch nowhere/],
    [local, own, { tag: "v9" }, /acme\/web has no commit at the tag v9/],
  ] as const;
  for (const [world, project, source, reason] of cases) {
    const { id: failed, status } = await world.release(project, source);
    const lines = (await world.messages(failed)).join("\n");
    assert.deepEqual([status, reason.test(lines)], ["failed", true], lines);
    assert.doesNotMatch(lines, /hush-token/);
  }
});

/** Builds that break a limit, with the expected reason; each leaves nothing behind. */
const limits: readonly (readonly [string, string, RegExp])[] = [
  ["sleeps", "sleep 4242", /took longer than deployments\.buildTimeout \(30 s\)/],
  ["fills the disk", "head -c 200M /dev/zero > big; sleep 4242", /wrote more than deployments\.buildDisk \(64 MiB\)/],
  ["fills a temporary folder", "head -c 200M /dev/zero > /tmp/big; sleep 4242", /deployments\.buildDisk/],
  [
    "fills the memory",
    `node -e 'const a=[];setInterval(()=>a.push(Buffer.alloc(2e7,1)),30)'`,
    /deployments\.buildMemory \(512 MiB\)/,
  ],
  ["forks", "for i in $(seq 1500); do sleep 4242 & done; wait", /more than 1024 processes/],
  ["kills its parent", "kill -9 $PPID; kill -9 1; kill -9 -1; exit 3", /failed with the exit code 3/],
  ["prints 1 GB", "yes 0123456789012345678901234567890123456789 | head -c 1G; exit 5", /The log is full/],
  ["leaves its group", "setsid sleep 4242 & setsid -f sleep 4242; exit 5", /failed with the exit code 5/],
];

test("Builds that pass a limit fail with its name, and the old release serves on", {
  skip: noSandbox || (!isLong && "the long form only: TEST_LONG=1"),
}, async (t) => {
  const database = join(temporaryFolder(t), "svc.db");
  const here = await runtimeWorld(t, {
    database,
    deployments: { buildTimeout: "30s", buildDisk: "64MiB", buildMemory: "512MiB" },
  });
  const { id } = await here.project("web");
  here.repos.commit("acme/web", app("one"));
  const first = await here.release(id);
  assert.equal(first.status, "active");
  for (const [name, build, reason] of limits) {
    here.repos.commit("acme/web", { "svc.json": { build } } satisfies Files);
    const { id: failed, status } = await here.release(id);
    const lines = await here.messages(failed);
    assert.equal(status, "failed", name);
    assert.match(lines.slice(-8).join("\n"), reason, name);
    assert.deepEqual(processesOf(failed), [], name);
    assert.equal(await here.ask(host), "200 one", name);
    // The answer comes first; the folder goes afterwards.
    await until(
      () => !(readdirSync(`${database}-apps/releases`).length > 1),
      () => here.ask(host),
    );
    assert.deepEqual(readdirSync(`${database}-apps/releases`), [first.id], name);
  }
});

test("Apps that do not behave are rolled back with the reason, and the old release serves on", {
  skip: !isLong && "the long form only: TEST_LONG=1",
}, async (t) => {
  const here = await runtimeWorld(t, { deployments: { healthTimeout: "8s", appMemory: "192MiB" } });
  const { id } = await here.project("web");
  const start = (body: string) => ({ "svc.json": { start: "node server.js" }, "server.js": body });
  const http = (answer: string, port = "process.env.PORT") =>
    `require("node:http").createServer((q, r) => { ${answer} }).listen(${port}, "127.0.0.1");`;
  here.repos.commit("acme/web", app("one"));
  assert.equal((await here.release(id)).status, "active");
  const cases = [
    [`console.log("no database"); ${http("r.statusCode = 500; r.end()")}`, /no database\n.*GET \/ answered 500/s],
    [
      http("r.end()", "0"),
      /The app listens on port (\d+) instead of \d+, .*\nThe app starts again, with the port \1 .*\nThe app printed nothing\n.*nothing listens on port \1,/s,
    ],
    [http(""), /GET \/ got no answer/],
    ["", /ended with the exit code 0/],
    ["process.abort()", /ended by the signal SIGABRT|exit code 134/],
  ] as const;
  for (const [body, reason] of cases) {
    here.repos.commit("acme/web", start(body));
    const { id: failed, status } = await here.release(id);
    assert.equal(status, "rolled_back");
    assert.match((await here.messages(failed)).join("\n"), reason);
    assert.equal(await here.ask(host), "200 one");
    await until(
      () => processesOf(failed).length === 0,
      () => here.ask(host),
    );
  }
  // An app that ignores SIGTERM is killed after its grace period; an app that takes too much memory starts again.
  const mark = `ignores${process.pid}`;
  const memory = `if (q.url === "/eat") setInterval(() => (global.a ??= []).push(Buffer.alloc(3e7, 1)), 30);`;
  here.repos.commit(
    "acme/web",
    start(`process.on("SIGTERM", () => {}); process.title = "${mark}"; ${http(`${memory} r.end("up")`)}`),
  );
  assert.equal((await here.release(id)).status, "active");
  assert.equal(await here.ask(host, "/eat"), "200 up");
  assert.match(await here.printed(id, /appMemory/), /used more memory than deployments\.appMemory \(192 MiB\)/);
  assert.equal(await here.ask(host), "200 up");
  await here.service.close();
  assert.deepEqual(processesWith(mark), []);
});

test("A working copy of another user deploys", { skip: process.getuid?.() !== 0 && "needs root" }, async (t) => {
  const here = await runtimeWorld(t);
  here.repos.commit("acme/web", app("one"));
  execFileSync("chown", ["-R", "nobody", join(here.repos.root, "acme")]);
  const { id } = await here.project("web");
  assert.equal((await here.release(id)).status, "active");
});
