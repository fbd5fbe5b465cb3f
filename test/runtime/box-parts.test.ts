import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { needs, obeyingApp } from "../helpers/obeying-app.ts";
import { launch, run, temporaryFolder } from "../helpers/program.ts";
import { lacks, runtimeWorld } from "../helpers/running-apps.ts";
import { seed } from "../helpers/test-service.ts";

test("With several organizations, a start without users and network of their own ends, unless they trust each other", async (t) => {
  const folder = temporaryFolder(t);
  const words = ["start", "--port", "0", "--apps-port", "0", "--runtime", "process", "--isolation", "none"];
  writeFileSync(join(folder, "seed.json"), JSON.stringify(seed));
  const args = [...words, "--database", "svc.db", "--seed", "seed.json"];
  const refused = run(args, folder);
  assert.equal(refused.status, 2, refused.stderr);
  assert.match(refused.stderr, /must not be process here: .*several organizations.*users: missing .*--tenancy trusted/);
  const trusting = await launch(t, [...args, "--tenancy", "trusted"], folder);
  assert.equal((await trusting.stop()).code, 0);
});

test("doctor lists each part of the box, and says how to add one that is missing", needs(), (t) => {
  const { stdout } = run(["doctor", "--port", "0", "--json"], temporaryFolder(t));
  const parts = (JSON.parse(stdout) as { check: string; missing: boolean; says: string }[]).filter(
    ({ check }) => check === "box",
  );
  for (const name of ["users", "limits", "network", "disk", "system calls"] as const) {
    const { says = "", missing } = parts.find((one) => one.says.startsWith(`${name}: `)) ?? {};
    const isMissing = lacks(name) !== false;
    assert.equal(missing, isMissing, name);
    assert.match(says, isMissing ? /: missing \(.+\)/ : /^[a-z ]+: (?!missing)/, name);
  }
});

const controllers = "/sys/fs/cgroup/cgroup.controllers";
const shares =
  lacks("limits") === false && existsSync(controllers) && /\bio\b/.test(readFileSync(controllers, "latin1"));

test("Server and boxes take turns at the disk where control groups of version 2 have the controller io", {
  skip: !shares && "this machine has no controller io in control groups of version 2",
}, async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  here.repos.commit("acme/web", obeyingApp);
  assert.equal((await here.release(id)).status, "active");
  const groups = readdirSync("/sys/fs/cgroup", { recursive: true, encoding: "utf8" }).filter((path) =>
    new RegExp(`/svc-server-${process.pid}-\\d+(/\\d+)?$`).test(`/${path}`),
  );
  assert.ok(groups.length >= 2, String(groups));
  for (const group of groups) assert.ok(existsSync(join("/sys/fs/cgroup", group, "io.max")), group);
});
