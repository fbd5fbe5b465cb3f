import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gitHost } from "../helpers/git-host.ts";
import { run, temporaryFolder } from "../helpers/program.ts";
import { expect, keyOf } from "../helpers/test-service.ts";

test("a restore refuses repositories that are not those of the backup, and git runs nothing that they name", async (t) => {
  const folder = temporaryFolder(t);
  const database = join(folder, "svc.db");
  const here = await gitHost(t, { database });
  here.repos.commit("me/hello", { "index.html": "one" });
  const branches = ["main", "tmp_next", "a\u2028b"];
  for (const branch of branches)
    assert.equal((await here.push("me/hello", "owner", `main:refs/heads/${branch}`)).code, 0);
  await here.service.close();
  mkdirSync(join(folder, "made"));
  const made = run(["backup", join(folder, "made/copy.db"), "--database", database]);
  assert.equal(made.status, 0, made.stderr);
  const [organization = ""] = readdirSync(join(folder, "made/copy.db-repositories"));

  const ran = join(folder, "ran");
  const hooks = join(folder, "hooks");
  mkdirSync(hooks);
  writeFileSync(join(hooks, "pre-receive"), `#!/bin/sh\ntouch ${ran}\n`, { mode: 0o755 });
  const evil = `[core]\n\tbare = true\n\thooksPath = ${hooks}\n`;
  /** Restores a copy of the backup that was changed after it was made. */
  const restored = (name: string, change: (repository: string, copy: string) => void) => {
    const copy = join(folder, name, "other.db");
    mkdirSync(join(folder, name));
    for (const end of ["", ".key", ".sha256", "-repositories"])
      cpSync(join(folder, `made/copy.db${end}`), copy + end, { recursive: true });
    change(join(`${copy}-repositories`, organization, "me/hello.git"), copy);
    const target = join(folder, name, "svc.db");
    return { target, ...run(["restore", copy, "--database", target]) };
  };
  const changed = restored("changed", (repository) => writeFileSync(join(repository, "config"), evil));
  const added = restored("added", (repository) => writeFileSync(join(repository, "packed-refs"), "x"));
  const missing = restored("missing", (repository) => rmSync(join(repository, "HEAD")));
  const says = {
    changed: /config does not match its checksum in other\.db\.sha256, so it was changed after the backup; use/,
    added: /packed-refs has no checksum in other\.db\.sha256, so it was added after the backup; use/,
    missing: /HEAD is missing, and other\.db\.sha256 has its checksum; use/,
  };
  for (const [name, { status, stderr, target }] of Object.entries({ changed, added, missing })) {
    assert.equal(status, 1, name);
    assert.match(stderr, says[name as keyof typeof says]);
    assert.ok(!existsSync(target));
  }
  const whole = restored("renamed", () => {});
  assert.equal(whole.status, 0, whole.stderr);
  const refs = join(`${whole.target}-repositories`, organization, "me/hello.git/refs/heads");
  assert.deepEqual(readdirSync(refs).sort(), [...branches].sort());

  const { status, target } = restored("unchecked", (repository, copy) => {
    writeFileSync(join(repository, "config"), evil);
    mkdirSync(join(repository, ".git"));
    writeFileSync(join(repository, "commondir"), hooks);
    rmSync(`${copy}.sha256`);
  });
  assert.equal(status, 0);
  const again = await gitHost(t, { database: target });
  const repository = join(`${target}-repositories`, organization, "me/hello.git");
  const settings = () => readFileSync(join(repository, "config"), "utf8");
  assert.equal(settings(), evil);
  const { data } = expect(await again.call("owner", "GET", "/v1/projects"), 200);
  const hello = data.find((one: { name: string }) => one.name === "hello");
  assert.equal((await again.release(hello.id, { repo: "me/hello" })).status, "active");
  assert.doesNotMatch(settings(), /hooksPath/);
  writeFileSync(join(repository, "config"), evil);
  again.repos.commit("me/hello", { "index.html": "two" });
  assert.equal((await again.push("me/hello", "owner", "main", ["--force"])).code, 0);
  assert.ok(!existsSync(ran));
  assert.doesNotMatch(settings(), /hooksPath/);
  assert.ok(!existsSync(join(repository, ".git")) && !existsSync(join(repository, "commondir")));
});

test("a branch whose name is not UTF-8 is missing from a backup, which says so and has the rest", async (t) => {
  const folder = temporaryFolder(t);
  const database = join(folder, "svc.db");
  const here = await gitHost(t, { database });
  here.repos.commit("me/hello", { "index.html": "one" });
  const url = here.urlOf("me/hello", keyOf("owner"));
  const push = `git push -q '${url}' main main:refs/heads/$(printf 'caf\\351/x') main:refs/heads/$(printf '\\351')`;
  const pushed = await here.run("me/hello", ["-c", `alias.odd=!${push}`, "odd"]);
  assert.equal(pushed.code, 0, pushed.text);
  await here.service.close();
  const copy = join(folder, "copy.db");
  const { status, stdout, stderr } = run(["backup", copy, "--database", database]);
  assert.equal(status, 1);
  assert.match(stdout, /is a copy that lacks data of apps or branches/);
  assert.equal(stderr.match(/me\/hello\.git\/refs\/heads\/.* was not copied: its name is not UTF-8/g)?.length, 2);
  assert.equal(run(["restore", copy, "--database", join(folder, "other.db")]).status, 0);
});

test("a restore copies no links and pipes in the place of files", async (t) => {
  const folder = temporaryFolder(t);
  const database = join(folder, "svc.db");
  const here = await gitHost(t, { database });
  await here.service.close();
  const copy = join(folder, "copy.db");
  assert.equal(run(["backup", copy, "--database", database]).status, 0);
  mkdirSync(`${copy}-files`);
  const name = `gen_${"0".repeat(26)}`;
  symlinkSync("/etc/passwd", join(`${copy}-files`, name));
  execFileSync("perl", ["-MPOSIX", "-e", "mkfifo($ARGV[0], 0600)", join(`${copy}-files`, `gen_${"1".repeat(26)}`)]);
  const target = join(folder, "other.db");
  assert.equal(run(["restore", copy, "--database", target]).status, 0);
  assert.deepEqual(readdirSync(`${target}-files`), []);
});
