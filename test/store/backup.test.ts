import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { createService } from "../../lib/index.ts";
import { backup } from "../../lib/store/transfer/backup.ts";
import { quiet } from "../helpers/database-rows.ts";
import { violations } from "../helpers/invariants.ts";
import { folderOf } from "../helpers/temporary-store.ts";

test("a backup is whole and ends although its server commits, and writes the log back, all the time", async (t) => {
  const [database, copy] = ["svc.db", "copy.db"].map((name) => join(folderOf(t), name)) as [string, string];
  await (await createService({ ...quiet, database })).close();
  const server = new Database(database);
  t.after(() => server.close());
  server.exec(`with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < 2000)
    insert into settings select 'large ' || n, hex(zeroblob(4000)) from numbers`);
  const write = server.prepare("update settings set value = ? || hex(zeroblob(4000)) where name in (?, ?)");
  let commits = 0;
  let isCopied = false;
  const goOn = () => {
    // A backup that restarts at each commit ends only when these commits end.
    if (isCopied || commits === 5000) return;
    const n = (commits++ * 37) % 1000;
    // Two rows at opposite ends of the file.
    write.run(`${commits} `, `large ${n + 1}`, `large ${2000 - n}`);
    if (commits % 5 === 0) server.pragma("wal_checkpoint(PASSIVE)");
    setImmediate(goOn);
  };
  goOn();
  await backup(database, copy, { force: false });
  isCopied = true;
  assert.ok(commits > 1 && commits < 5000, `${commits} commits`);
  const copied = new Database(copy);
  t.after(() => copied.close());
  assert.deepEqual(violations(copied), []);
  const value = copied.prepare("select value from settings where name = ?").pluck();
  for (let n = 0; n < 1000; n++) assert.equal(value.get(`large ${n + 1}`), value.get(`large ${2000 - n}`));
});
