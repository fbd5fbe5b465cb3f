import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type TestContext, test } from "node:test";
import { createClient } from "../../lib/client.ts";
import { endSeenBy } from "../helpers/deployments.ts";
import { needsRoot, obeyingApp } from "../helpers/obeying-app.ts";
import { ordinaryUser, subordinate } from "../helpers/ordinary-user.ts";
import { launch, program, temporaryFolder } from "../helpers/program.ts";
import { type Files, repositories } from "../helpers/repositories.ts";
import { askApp, processesOf } from "../helpers/running-apps.ts";
import { keyOf, seed } from "../helpers/test-service.ts";

/* The service runs as an ordinary user with subordinate ids; its apps try to use up the kernel's limits per user. */

const asRoot = needsRoot("makes the user", "users", "limits");

/** Starts a server as this user; returns it with a function that deploys an app to it. */
async function served(t: TestContext, who: "root" | "an ordinary user", asRoot: string[] = [], env = {}) {
  const user = who === "root" ? { uid: 0, become: [], words: [] } : ordinaryUser(t, ...asRoot);
  const folder = temporaryFolder(t);
  const repos = repositories(t);
  repos.commit("acme/web", obeyingApp);
  writeFileSync(join(folder, "seed.json"), JSON.stringify(seed));
  spawnSync("chown", ["-R", `${user.uid}:${user.uid}`, folder]);
  chmodSync(repos.root, 0o755);
  const words = ["dev", "--port", "0", "--apps-port", "0", "--seed", "seed.json", "--runtime", "process"];
  const args = [...words, "--database", "svc.db", "--repos", repos.root];
  const start = () => launch(t, args, folder, { env: { HOME: folder, ...env }, within: user.words });
  const server = await start();
  const { port } = new URL(server.apps_url ?? "");
  const deploy = async (who: "owner" | "stranger", name: string, files: Files = {}) => {
    const client = createClient({ baseUrl: server.base_url, apiKey: keyOf(who) });
    const { id: project_id } = await client.projects.create({ name, region: "eu-west-1" });
    const again = async (changed: Files) => {
      repos.commit("acme/web", { ...obeyingApp, ...changed });
      const source = { type: "git", repo: "acme/web" } as const;
      const { id } = await client.deployments.create({ project_id, environment: "production", source });
      const { status } = await endSeenBy(client, id);
      const { data } = await client.deployments.logs({ id, per_page: 100 });
      return { id, status, lines: data.map(({ message }) => message).join("\n") };
    };
    const { id, status, lines } = await again(files);
    assert.equal(status, "active", lines);
    const run = async (code: string) =>
      (await askApp(port, `production-${name}.localhost`, `/?${encodeURIComponent(code)}`)).replace(/^200 /, "");
    return { id, run, again };
  };
  return { user, server, deploy, start, folder };
}

const usersOf = (deployment_id: string) => [
  ...new Set(
    processesOf(deployment_id).flatMap((pid) => {
      const [, uid] = /^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1")) ?? [];
      return readFileSync(`/proc/${pid}/cmdline`, "latin1").startsWith("node") ? [Number(uid)] : [];
    }),
  ),
];

const calls = {
  x64: { inotify: 294, watch: 254, queue: 129 },
  arm64: { inotify: 26, watch: 27, queue: 138 },
}[process.arch as "x64"];
/** Takes all there is, or as many as the first argument; prints the count, and holds everything until stdin ends. */
const taking = (setup: string, one: string) =>
  `${setup} my $n = 0; $n++ while $n < $ARGV[0] && ${one}; $| = 1; print "$n\\n"; <STDIN>; kill "KILL", @held`;
const greed = {
  // Must come before the instances: it needs one.
  "watches of inotify": taking(
    `my $own = syscall(${calls?.inotify}, 0); my @files = split /\\0/, qx(find /usr -xdev -print0 2>/dev/null);`,
    `$n < @files && syscall(${calls?.watch}, $own, $files[$n], 2) >= 0`,
  ),
  "instances of inotify": taking("", `syscall(${calls?.inotify}, 0) >= 0`),
  "pending signals": taking(
    `use POSIX; sigprocmask(SIG_BLOCK, POSIX::SigSet->new(40)); my $info = pack("llllllx100", 40, 0, -1, 0, 0, 0);`,
    `syscall(${calls?.queue}, 0 + $$, 40, $info) >= 0`,
  ),
  // Must be last: afterwards the app can start nothing.
  processes: taking("my $pid;", `defined($pid = fork) && ($pid ? push(@held, $pid) : sleep 4242)`),
} as const;

test("A server of an ordinary user, and each organization, has a user of its own", asRoot, async (t) => {
  const { user, server, deploy, start, folder } = await served(t, "an ordinary user");
  const ids = [await deploy("owner", "web"), await deploy("stranger", "other")].map(({ id }) => usersOf(id));
  assert.deepEqual(
    ids.map(({ length }) => length),
    [1, 1],
  );
  const all = ids.flat();
  assert.equal(new Set([...all, user.uid]).size, 3, String(all));
  const { first, count } = subordinate;
  for (const id of all) assert.ok(id >= first && id < first + count, String(id));
  assert.equal((await server.stop()).code, 0);

  // What it tests at its start stands in the way of no later start.
  assert.equal((await (await start()).stop()).code, 0);
  const temporary = join(folder, "tmp");
  mkdirSync(temporary);
  chownSync(temporary, user.uid, user.uid);
  const [file = "", ...words] = [...user.words, process.execPath, program, "doctor"];
  const env = { ...process.env, TMPDIR: temporary, HOME: folder };
  const { stdout, stderr } = spawnSync(file, words, { encoding: "utf8", cwd: folder, env });
  assert.match(stdout, /process works here/, stderr);
  assert.deepEqual(readdirSync(temporary), []);
});

for (const who of ["root", "an ordinary user"] as const)
  test(
    `What the kernel counts by user, no app takes from a server of ${who}, or from a neighbour`,
    asRoot,
    async (t) => {
      const { user, server, deploy } = await served(t, who);
      const [{ run }, other] = [await deploy("owner", "web"), await deploy("stranger", "other")];
      const take = (code: string, most: number, then: string) =>
        `new Promise((done) => { const one = require("node:child_process").spawn("perl", ["-e", ${JSON.stringify(code)}, "${most}"]);
        one.stdout.once("data", (text) => { done(Number(text)); ${then} }); one.stderr.once("data", done); })`;
      for (const [name, code] of Object.entries(greed)) {
        const taken = Number(await run(take(code, 1e6, "")));
        assert.ok(taken > 9, `${name}: ${taken}`);
        const [file = "", ...words] = [...user.become, "perl", "-e", code, "10"];
        const ofServer = Number(spawnSync(file, words, { encoding: "utf8" }).stdout);
        const ofNeighbour = Number(await other.run(take(code, 10, "one.stdin.end()")));
        assert.deepEqual([ofServer, ofNeighbour], [10, 10], `${name}: the app has taken ${taken}`);
        t.diagnostic(`${name}: an app took ${taken}`);
      }
      assert.equal((await server.get("/v1/me", keyOf("owner"))).status, 200);
      assert.equal(await other.run("1 + 1"), "2");
      assert.equal((await server.stop()).code, 0);
    },
  );

/** Builds that hide what they write. Each writes for as long as it can. */
const hiding = {
  "an open file without a name": `exec 3> gone; rm gone; cat /dev/zero >&3; sleep 4242`,
  "many of them": `for i in 1 2 3 4 5 6; do (exec 3> gone; rm gone; head -c 100M /dev/zero >&3; sleep 4242) & done; wait`,
  "a folder that nobody lists": `mkdir -m 300 dark; cat /dev/zero > dark/big; sleep 4242`,
  "space that is reserved": `exec 3> /tmp/gone; rm /tmp/gone; fallocate -l 900M /proc/self/fd/3 || head -c 400M /dev/zero >&3; sleep 4242`,
  "packages without a name": `exec 3> /cache/gone; rm /cache/gone; cat /dev/zero >&3; sleep 4242`,
};

test(
  "A build of an ordinary user's server writes to the file system that root made, and no more than it may",
  asRoot,
  async (t) => {
    const above = temporaryFolder(t);
    chmodSync(above, 0o755);
    const folder = join(above, "disks");
    const making = [`sh ${resolve("fixtures/hosting/build-disks.sh")} 1 256M svc-test ${folder} >&2`];
    const limits = { SVC_DEPLOYMENTS_CONCURRENCY: "1", SVC_DEPLOYMENTS_BUILD_DISK: "64MiB" };
    const { server, deploy } = await served(t, "an ordinary user", making, {
      SVC_DEPLOYMENTS_BUILD_DISKS: folder,
      ...limits,
    });
    const web = await deploy("owner", "web", {
      "svc.json": { build: "echo package > /cache/kept; echo built > made", start: "node server.js" },
    });
    assert.equal(await web.run(`fs.readFileSync("made", "utf8")`), "built\n");
    for (const [name, build] of Object.entries(hiding)) {
      const { status, lines } = await web.again({ "svc.json": { build } });
      assert.equal(status, "failed", name);
      assert.match(lines, /wrote more than deployments\.buildDisk \(64 MiB\)/, name);
    }
    const { status, lines } = await web.again({
      "svc.json": { build: "cat /cache/kept; ls -A /cache /tmp", start: "node server.js" },
    });
    assert.equal(status, "active", lines);
    assert.match(lines, /^package$/m);
    assert.equal((await server.stop()).code, 0);
  },
);
