import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { needs } from "../helpers/obeying-app.ts";
import { temporaryFolder } from "../helpers/program.ts";
import { runtimeWorld } from "../helpers/running-apps.ts";

const most = 64 * 1024 ** 2;
/** Writes 400 MB to a descriptor in steps of 1 MB, and prints its progress. */
const write = `perl -e '$| = 1; for (1..400) { syswrite(STDOUT, "x" x 1e6) == 1e6 or last; print STDERR "wrote $_\\n" if $_ % 20 == 0 }'`;

/** Builds that hide what they write. */
const hiding = {
  "open files without a name": `for i in 1 2 3 4; do (exec 3> gone; rm gone; ${write} >&3; sleep 4242) & done; wait`,
  "a folder that nobody lists": `mkdir dark; chmod 300 dark; ${write} > dark/big; sleep 4242`,
  "a temporary file without a name": `exec 3> /tmp/gone; rm /tmp/gone; ${write} >&3; sleep 4242`,
  "a package without a name": `exec 3> /cache/gone; rm /cache/gone; ${write} >&3; sleep 4242`,
};

test("A build that hides what it writes is ended at its limit of disk space", needs("disk"), async (t) => {
  const database = join(temporaryFolder(t), "svc.db");
  const here = await runtimeWorld(t, { database, deployments: { buildDisk: "64MiB" } });
  const { id } = await here.project("web");
  for (const [name, build] of Object.entries(hiding)) {
    here.repos.commit("acme/web", { "svc.json": { build } });
    const { id: failed, status } = await here.release(id);
    const lines = await here.messages(failed);
    assert.equal(status, "failed", name);
    assert.match(lines.join("\n"), /wrote more than deployments\.buildDisk \(64 MiB\)/, name);
  }
  const cache = join(`${database}-apps`, "cache", id, "packages-production");
  await here.service.close();
  // The builds leave nothing, on the disk or in the kernel.
  assert.deepEqual(readdirSync(cache), []);
  assert.equal(execFileSync("losetup", ["--list", "--noheadings"], { encoding: "utf8" }).includes(cache), false);
});

test("What a build leaves is the release, and packages for the next build", needs("disk"), async (t) => {
  const database = join(temporaryFolder(t), "svc.db");
  const here = await runtimeWorld(t, { database, deployments: { buildDisk: "64MiB" } });
  const { id } = await here.project("web");
  const build = `cat /cache/kept; echo package > /cache/kept; echo left > /tmp/left; mkdir -p public/deep; echo home > public/deep/index.html; ln -s deep public/link; ln public/deep/index.html public/index.html`;
  here.repos.commit("acme/web", { "svc.json": { build, static: "public" } });
  const first = await here.release(id);
  assert.equal(first.status, "active", String(await here.messages(first.id)));
  for (const path of ["/", "/link/", "/deep/"])
    assert.equal(await here.ask("production-web.localhost", path), "200 home\n");
  const second = await here.release(id);
  assert.ok((await here.messages(second.id)).includes("package"));
  const releases = join(`${database}-apps`, "releases");
  assert.deepEqual(readdirSync(join(releases, second.id)).sort(), ["app", "release.json"]);
  await here.service.close();
  const disk = join(`${database}-apps`, "cache", id, "packages-production/disk");
  // The disk file takes no more than its packages.
  assert.ok(existsSync(disk));
  assert.ok(512 * statSync(disk).blocks < most / 8, `${512 * statSync(disk).blocks}`);
});

test("A build leaves what is hard to copy, and its deployment ends", needs("disk"), async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  const left = {
    "mkfifo pipe; truncate -s 900M sparse; mkdir -m 300 dark; ln -s / root; ln -s loop loop; perl -MSocket -e 'socket(my $s, 1, 1, 0); bind($s, pack_sockaddr_un(\"socket\"))'":
      "active",
    'perl -e \'for (1..300) { mkdir "x" x 20; chdir "x" x 20 }\'': "failed",
  };
  for (const [build, end] of Object.entries(left)) {
    // In the site's folder: a static release keeps nothing else.
    const site = { build: `cd public; ${build}`, static: "public" };
    here.repos.commit("acme/web", { "svc.json": site, "public/index.html": "home" });
    const { id: deployment, status } = await here.release(id);
    const lines = (await here.messages(deployment)).join("\n");
    assert.equal(status, end, lines);
    if (end === "failed") assert.match(lines, /what was built could not be copied: .*File name too long/s);
    assert.equal(await here.ask("production-web.localhost"), "200 home");
  }
});

test(
  "A release command that follows a build runs without its disk, and fails with its own reason",
  needs("disk"),
  async (t) => {
    const here = await runtimeWorld(t);
    const { id } = await here.project("web");
    here.repos.commit("acme/web", {
      "svc.json": { build: "echo built > made" },
      // The release command outlasts the removal of the build's disk.
      Procfile: "web: node server.js\nrelease: cat made; sleep 1; exit 4\n",
    });
    const { id: failed, status } = await here.release(id);
    const lines = await here.messages(failed);
    assert.equal(status, "failed");
    assert.ok(lines.includes("built"), lines.join("\n"));
    assert.match(lines.join("\n"), /The release command failed with the exit code 4/);
  },
);
