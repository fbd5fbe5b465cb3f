import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, ftruncateSync, openSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gitHost } from "../helpers/git-host.ts";
import { needs } from "../helpers/obeying-app.ts";
import { app } from "../helpers/running-apps.ts";

/** The most memory that the server's git has taken, and its limit. Its group is the first of the server. */
function memoryOfGit(): { readonly peak: number; readonly limit: number } {
  const search = ["/sys/fs/cgroup", "-path", `*/svc-server-${process.pid}-*/1/memory.*`];
  const files = spawnSync("find", search, { encoding: "utf8" }).stdout.split("\n");
  const read = (name: RegExp) => Number(readFileSync(files.find((file) => name.test(file)) ?? "none", "latin1"));
  return {
    peak: read(/memory\.(peak|max_usage_in_bytes)$/),
    limit: read(/memory\.(max|limit_in_bytes)$/),
  };
}

test("Git shares one limit of memory, and a small pack that holds 200 MiB takes little of it", {
  ...needs("limits"),
}, async (t) => {
  const here = await gitHost(t);
  here.repos.commit("me/hello", app("one"));
  assert.equal((await here.push("me/hello", "owner")).code, 0);
  const { peak, limit } = memoryOfGit();
  assert.ok(peak > 0 && limit === 2 * 1024 ** 3, `${peak} of ${limit}`);

  const path = join(here.repos.root, "me/hello/zeros");
  const file = openSync(path, "w");
  ftruncateSync(file, 200 * 1024 ** 2);
  closeSync(file);
  here.repos.git("me/hello", "checkout", "--quiet", "-b", "large");
  here.repos.git("me/hello", "add", "--all");
  here.repos.git("me/hello", "commit", "--quiet", "--message=large");
  rmSync(path);
  const pushed = await here.push("me/hello", "owner", "large");
  assert.equal(pushed.code, 0, pushed.text);
  const after = memoryOfGit();
  assert.ok(after.peak < 100 * 1024 ** 2, `${after.peak} bytes`);
});
