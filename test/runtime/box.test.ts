import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { totalmem } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { endOf } from "../helpers/deployments.ts";
import { needs, needsRoot, obeyingApp, runIn } from "../helpers/obeying-app.ts";
import { temporaryFolder } from "../helpers/program.ts";
import { processesOf, runtimeWorld } from "../helpers/running-apps.ts";
import { expect } from "../helpers/test-service.ts";

/*
 * Attacks by a user with the right to deploy, as builds and apps of the runtime `process`. The box stops each one; a
 * test is skipped, with the reason, where the machine lacks the part that does so.
 */

const seesAll = "sees the processes of all users";
const host = "production-web.localhost";
test(
  "A link that a build makes and another one turns leads a static site to no file of the server",
  needs(),
  async (t) => {
    const folder = temporaryFolder(t);
    const here = await runtimeWorld(t, { database: join(folder, "svc.db") });
    const { id } = await here.project("web");
    // The link resolves alike in the box and on the machine, except for the cache, where it fits the machine's path.
    const hop = `../../../cache/${id}/packages/hop`;
    const link = `mkdir real && echo home > real/index.html && ln -sfn "../../../releases/$SVC_DEPLOYMENT/app/real" /cache/hop`;
    here.repos.commit("acme/web", { "svc.json": { static: "site", build: `${link} && ln -s ${hop} site` } });
    const first = await here.release(id);
    here.repos.commit("acme/web", {
      "svc.json": { static: "site", build: `ln -sfn ../../../.. /cache/hop; mkdir site; echo > site/index.html` },
    });
    await here.release(id, {}, "preview");
    await here.call("owner", "POST", `/v1/projects/${id}/environments/production/restart`);
    assert.doesNotMatch(await here.ask(host, "/svc.db.key"), /^200 /);
    assert.equal(first.status, "failed");
    assert.ok((await here.messages(first.id)).join("\n").includes("has no index.html"));
  },
);

test("A static site shows nothing of the machine's that its links name", needs(), async (t) => {
  const folder = temporaryFolder(t);
  const here = await runtimeWorld(t, { database: join(folder, "svc.db") });
  const { id } = await here.project("web");
  const links = `ln -s ${folder}/svc.db.key public/key; ln -s ../../../../../svc.db.key public/near; ln -s /proc/1/environ public/environ`;
  here.repos.commit("acme/web", { "svc.json": { static: "public", build: links }, "public/index.html": "home" });
  assert.equal((await here.release(id)).status, "active");
  assert.equal(await here.ask(host), "200 home");
  for (const path of ["/key", "/near", "/environ"]) assert.match(await here.ask(host, path), /^404 /, path);
});

test(
  "Server and organizations are three users, and a build owns what it writes",
  needsRoot(seesAll, "users"),
  async (t) => {
    const folder = temporaryFolder(t);
    const here = await runtimeWorld(t, { database: join(folder, "svc.db") });
    here.repos.commit("acme/web", {
      ...obeyingApp,
      "svc.json": { build: "echo made > made", start: "node server.js" },
    });
    const { id } = await here.project("web");
    const theirs = expect(
      await here.call("stranger", "POST", "/v1/projects", { name: "other", region: "eu-west-1" }),
      201,
    );
    const source = { type: "git", repo: "acme/web" };
    const order = { project_id: theirs.id, environment: "production", source };
    const { id: other } = expect(await here.call("stranger", "POST", "/v1/deployments", order), 201);
    await endOf(here, "stranger", other);
    const own = (await here.release(id)).id;
    const usersOf = (deployment: string) => [
      ...new Set(
        processesOf(deployment)
          .filter((pid) => readFileSync(`/proc/${pid}/cmdline`, "latin1").startsWith("node"))
          .map((pid) => /^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1]),
      ),
    ];
    const users = [usersOf(own), usersOf(other)];
    assert.deepEqual(
      users.map(({ length }) => length),
      [1, 1],
    );
    assert.equal(new Set([...users.flat(), String(process.getuid?.())]).size, 3, String(users));
    const made = statSync(join(folder, "svc.db-apps/releases", own, "app/made"));
    assert.equal(String(made.uid), users[0]?.[0]);
  },
);

test("Shared memory counts: a build and an app end at their limit", needs("limits"), async (t) => {
  const shared = `perl -e 'for (1..24) { my $id = shmget(0, 64 << 20, 0600) // die $!; shmwrite($id, "x" x (64 << 20), 0, 64 << 20) or die $! } sleep 600'`;
  const here = await runtimeWorld(t, {
    deployments: { buildMemory: "256MiB", appMemory: "256MiB" },
  });
  const { id } = await here.project("web");
  here.repos.commit("acme/web", { "svc.json": { build: shared } });
  const built = await here.release(id);
  assert.equal(built.status, "failed");
  assert.match(
    (await here.messages(built.id)).join("\n"),
    /used more memory than deployments\.buildMemory \(256 MiB\)/,
  );
  here.repos.commit("acme/web", obeyingApp);
  assert.equal((await here.release(id)).status, "active");
  await runIn(here, `void require("node:child_process").exec(${JSON.stringify(shared)})`);
  assert.match(await here.printed(id, /appMemory/), /used more memory than deployments\.appMemory \(256 MiB\)/);
  assert.equal(await runIn(here, "1 + 1"), "2");
});

test("Epoll watches without end take nothing from the server", needs("users", "limits"), async (t) => {
  const here = await runtimeWorld(t, { deployments: { appMemory: "512MiB" } });
  const { id } = await here.project("web");
  here.repos.commit("acme/web", obeyingApp);
  assert.equal((await here.release(id)).status, "active");
  const calls = { x64: [291, 233], arm64: [20, 21] }[process.arch as "x64"] ?? [0, 0];
  const watches = `my @fds = map { my @p; pipe($p[0], $p[1]); @p } 1..1000; for (1..2000) { my $e = syscall(${calls[0]}, 0);
    for my $fd (@fds) { syscall(${calls[1]}, $e, 1, fileno($fd), pack("LQ", 1, 0)) == 0 or exit 7 } } exit 8`;
  const ended = runIn(
    here,
    `Promise.all([1, 2, 3].map(() => new Promise((done) => require("node:child_process").spawn("perl", ["-e", ${JSON.stringify(watches)}]).on("exit", (code, signal) => done(code ?? signal)))))`,
  ).catch(() => "the app ended");
  // Each connection to the apps' port takes an epoll watch of the server.
  for (let asked = 0; asked < 50; asked++) assert.match(await here.ask("nobody.localhost"), /^404 /);
  await ended;
  assert.match(await here.ask("nobody.localhost"), /^404 /);
  expect(await here.call("owner", "GET", "/v1/me"), 200);
});

test("An app that floods its log waits for its reader", needs(), async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  here.repos.commit("acme/web", obeyingApp);
  assert.equal((await here.release(id)).status, "active");
  const flood = `(() => { const begun = Date.now(); spawnSync("sh", ["-c", "yes | head -n 300000"], { stdio: ["ignore", "inherit", "ignore"] }); return Date.now() - begun; })()`;
  const took_ms = Number(await runIn(here, flood));
  assert.ok(took_ms >= 4_000, `300,000 lines were read in ${took_ms} ms`);
});

test("A build whose log is full prints no faster than its reader drops", needs(), async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  const flood = `begun=$(date +%s%N); head -c 150000000 /dev/zero | tr '\\0' 'x' | fold -w 1000; echo $((($(date +%s%N) - begun) / 1000000)) > took`;
  const start = `require("node:http").createServer((_, r) => r.end(require("fs").readFileSync("took"))).listen(process.env.PORT, process.env.HOST)`;
  here.repos.commit("acme/web", { "svc.json": { build: flood, start: "node server.js" }, "server.js": start });
  assert.equal((await here.release(id)).status, "active");
  const [, took_ms] = /^200 (\d+)/.exec(await here.ask(host)) ?? [];
  assert.ok(Number(took_ms) >= 3_500, `150 MB were read in ${took_ms} ms`);
});

test("All boxes together have a limit", needs("limits"), async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  here.repos.commit("acme/web", obeyingApp);
  assert.equal((await here.release(id)).status, "active");
  const files = spawnSync("find", ["/sys/fs/cgroup", "-path", `*/svc-server-${process.pid}-*`], {
    encoding: "utf8",
  }).stdout;
  const limits = files
    .split("\n")
    .filter((file) => /\/svc-server-\d+-\d+\/(memory\.max|memory\.limit_in_bytes|pids\.max)$/.test(file))
    .map((file) => ({ file, limit: Number(readFileSync(file, "latin1")) }));
  assert.ok(limits.length >= 2, files);
  for (const { file, limit } of limits) {
    const most = file.endsWith("pids.max")
      ? Number(readFileSync("/proc/sys/kernel/threads-max", "latin1"))
      : totalmem();
    assert.ok(limit > 0 && limit <= 0.75 * most, `${file}: ${limit} of ${most}`);
  }
});

test("Calls of the kernel that no app needs are refused", needs("system calls"), async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  const calls =
    process.arch === "arm64"
      ? {
          keyctl: 219,
          add_key: 217,
          bpf: 280,
          userfaultfd: 282,
          mount: 40,
          ptrace: 117,
          unshare: 97,
          setns: 268,
          perf_event_open: 241,
          process_vm_readv: 270,
          io_uring_setup: 425,
        }
      : {
          keyctl: 250,
          add_key: 248,
          bpf: 321,
          userfaultfd: 323,
          mount: 165,
          ptrace: 101,
          unshare: 272,
          setns: 308,
          perf_event_open: 298,
          process_vm_readv: 310,
          io_uring_setup: 425,
        };
  const tries = Object.entries(calls).map(
    ([name, number]) => `syscall(${number}, 0, 0, 0, 0, 0); print "${name} ", $! + 0, "\\n";`,
  );
  here.repos.commit("acme/web", { "svc.json": { build: `perl try.pl; exit 3` }, "try.pl": tries.join("\n") });
  const lines = await here.messages((await here.release(id)).id);
  for (const name of Object.keys(calls))
    assert.ok(lines.includes(`${name} ${name === "io_uring_setup" ? 38 : 1}`), `${name}: ${lines}`);
});

test(
  "Nothing of a box outlives its service: no group, no process, no mount",
  needsRoot(seesAll, "limits"),
  async (t) => {
    // Tests that run at the same time mount container engines.
    const mounts = () =>
      new Set(
        readFileSync("/proc/self/mountinfo", "utf8")
          .split("\n")
          .filter((line) => /svc-server|\/sys\/bus/.test(line) && !line.includes("/svc-server-engine-")),
      );
    const before = mounts();
    const here = await runtimeWorld(t);
    const { id } = await here.project("web");
    here.repos.commit("acme/web", obeyingApp);
    const { id: live } = await here.release(id);
    // Unlike a recursive read, `find` continues if a group of another test ends meanwhile.
    const groups = () =>
      spawnSync("find", ["/sys/fs/cgroup", "-name", `svc-server-${process.pid}-*`], { encoding: "utf8" }).stdout;
    assert.notEqual(processesOf(live).length, 0);
    assert.notEqual(groups(), "");
    await here.service.close();
    assert.deepEqual([processesOf(live), groups()], [[], ""]);
    assert.deepEqual(
      [...mounts()].filter((one) => !before.has(one)),
      [],
    );
  },
);
