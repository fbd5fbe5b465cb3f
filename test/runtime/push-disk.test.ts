import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { gitHost } from "../helpers/git-host.ts";
import { cannotMount, smallDisk } from "../helpers/small-disk.ts";

test("a push is refused with the reason while less than 1 GiB of disk is free, and stores nothing", async (t) => {
  const disk = smallDisk(t);
  if (!disk) return t.skip(cannotMount);
  const folder = join(dirname(disk.database), "repositories");
  const here = await gitHost(t, { repositories: { folder } });
  here.repos.commit("me/hello", { "index.html": "one" });
  const { code, text } = await here.push("me/hello", "owner");
  assert.equal(code, 128, text);
  assert.match(text, /^remote: only 24 MiB of disk is free, and a push needs 1 GiB$/m);
  const direct = await here.pushNothing("me/hello");
  assert.equal(direct.status, 503);
  assert.deepEqual(readdirSync(folder), [".host"]);
});
