import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { createService } from "../../lib/index.ts";
import { backup } from "../../lib/store/backup.ts";
import { quiet } from "../helpers/database-rows.ts";
import { violations } from "../helpers/invariants.ts";
import { folderOf } from "../helpers/temporary-store.ts";

test("a backup ends although its server commits between any two of its steps", async (t) => {
  const [database, copy] = ["svc.db", "copy.db"].map((name) => join(folderOf(t), name)) as [string, string];
  await (await createService({ ...quiet, database })).close();
  const server = new Database(database);
  t.after(() => server.close());
  server.exec(`with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < 2000)
    insert into settings select 'large ' || n, hex(zeroblob(4000)) from numbers`);
  const commit = server.prepare("insert or replace into settings values ('commits', ?)");
  let commits = 0;
  let isCopied = false;
  const goOn = () => {
    // A backup that begins anew each time ends when these do.
    if (isCopied || commits === 2000) return;
    commit.run(String(++commits));
    setImmediate(goOn);
  };
  goOn();
  await backup(database, copy, { force: false });
  isCopied = true;
  assert.ok(commits > 1 && commits < 2000, `${commits} commits`);
  const copied = new Database(copy);
  t.after(() => copied.close());
  assert.deepEqual(violations(copied), []);
  const count = copied.prepare("select count(*) from settings where name like 'large %'").pluck().get();
  assert.equal(count, 2000);
});
