import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createOrganizationUsers } from "../../lib/platform/box/organization-users.ts";
import { temporaryFolder } from "../helpers/program.ts";

const range = { first: 1000, count: 4 };

test("organizations that come at once get users of their own, which they keep", async (t) => {
  const folder = temporaryFolder(t);
  const users = createOrganizationUsers(folder, range);
  const ids = ["org_1", "org_2", "org_1", "org_3"];
  assert.deepEqual(await Promise.all(ids.map(users.of)), [1000, 1001, 1000, 1002]);
  const next = createOrganizationUsers(folder, range);
  assert.deepEqual(await Promise.all(["org_3", "org_4", "org_2"].map(next.of)), [1002, 1003, 1001]);
  await assert.rejects(next.of("org_5"), /has room for 4 organizations only/);
});

test("a user that could not be stored is given out anew, and holds up no other", async (t) => {
  const folder = temporaryFolder(t);
  const users = createOrganizationUsers(folder, range);
  const file = join(folder, "users.json");
  // Makes the write fail: a file cannot replace a folder.
  mkdirSync(file);
  const ask = (id: string) => users.of(id).catch(() => "not stored");
  const [first, second, again] = [ask("org_1"), ask("org_2"), ask("org_1")];
  assert.equal(await first, "not stored");
  rmdirSync(file);
  assert.deepEqual([await second, await again], [1001, "not stored"]);
  assert.equal(await users.of("org_1"), 1002);
  assert.deepEqual(JSON.parse(readFileSync(file, "utf8")), { org_2: 1, org_1: 2 });
});
