import assert from "node:assert/strict";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { migrate, migrations } from "../../lib/store/migrate.ts";
import { violations } from "../helpers/invariants.ts";
import { folderOf } from "../helpers/temporary-store.ts";
import { expect, world } from "../helpers/test-service.ts";

/** Copies a database into a new one of an earlier version, without the tables and columns that this version lacks. */
function asOlder(from: string, to: string, version: number): void {
  const older = new Database(to);
  migrate(older, migrations().slice(0, version));
  older.pragma("foreign_keys = OFF");
  older.prepare("attach ? as newer").run(from);
  const columnsOf = (schema: string, table: string) =>
    (older.pragma(`${schema}.table_info(${table})`) as { name: string }[]).map(({ name }) => name);
  const tables = older.pragma("main.table_list") as { schema: string; name: string; type: string }[];
  for (const { schema, name } of tables.filter(({ type, name }) => type === "table" && name !== "migrations")) {
    if (schema !== "main" || name.startsWith("sqlite_")) continue;
    const columns = columnsOf("main", name).filter((column) => columnsOf("newer", name).includes(column));
    older.exec(`insert into main.${name} (${columns}) select ${columns} from newer.${name}`);
  }
  older.close();
  copyFileSync(`${from}.key`, `${to}.key`);
}

test("a file of the previous version continues with its waiting work", async (t) => {
  const folder = folderOf(t);
  const [now, before] = [join(folder, "now.db"), join(folder, "before.db")];
  const options = { deployments: { concurrency: 1 }, clock: "manual" } as const;
  const here = await world(t, { ...options, database: now });
  const { id } = await here.project();
  const hook = { url: "https://kept.inbox.test/in", events: ["deployment.succeeded"] };
  const kept = expect(await here.call("owner", "POST", "/v1/webhooks", hook), 201);
  const off = expect(await here.call("owner", "POST", "/v1/webhooks", hook), 201);
  for (const environment of ["a", "b", "b", "c"]) await here.deploy(id, { environment });
  await here.service.clock.advance("2s");
  for (const name of [kept.id, off.id]) expect(await here.call("owner", "POST", `/v1/webhooks/${name}/test`), 202);
  await here.service.close();
  asOlder(now, before, migrations().length - 1);

  const again = await world(t, { ...options, database: before });
  const lists = async () => {
    const { data } = expect(await again.call("viewer", "GET", "/v1/deployments"), 200);
    return data.map(({ status }: { status: string }) => status).join(" ");
  };
  assert.equal(await lists(), "queued queued queued building");
  expect(await again.call("owner", "PATCH", `/v1/webhooks/${off.id}`, { status: "inactive" }), 200);
  await again.service.clock.runUntilIdle();
  assert.equal(await lists(), "active active active active");
  const sent = again.service.inbox.list({ endpoint: "kept" }).map(({ body }) => JSON.parse(body).event);
  const done = "deployment.succeeded";
  assert.deepEqual(sent, ["ping", done, done, done, done]);
  await again.service.close();
  const file = new Database(before, { readonly: true });
  assert.deepEqual(violations(file), []);
  file.close();
});
