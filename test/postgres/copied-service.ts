import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import type { TestContext } from "node:test";
import Database from "better-sqlite3";
import { Client } from "pg";
import type { Options } from "../../lib/index.ts";
import { createGeneration, sharedPainter } from "../helpers/painter.ts";
import { expect, type World, world } from "../helpers/test-service.ts";

const draw = sharedPainter();

/** The options of a service that continues the work of an earlier one. */
export const going = (more: Options): Options => ({
  clock: "manual",
  generations: { driver: draw() },
  deployments: { concurrency: 1 },
  ...more,
});

/** A service with rows in every area and unfinished work. */
export async function filled(t: TestContext, options: Options) {
  const here = await world(t, going(options));
  const { id } = await here.project();
  const post = async (path: string, body: object, headers = {}) =>
    expect(await here.call("owner", "POST", `/v1${path}`, body, headers), 201);
  const put = { variables: { SECRET: "sk_live_demo_variable", CITY: "Zürich \u{1f600}" } };
  expect(await here.call("owner", "PUT", `/v1/projects/${id}/environments/production`, put), 200);
  here.service.inbox.script("late", [500, 500, 200]);
  await post("/webhooks", { url: "https://late.inbox.test/in", events: ["deployment.succeeded"] });
  await post("/users/invite", { email: "eve@acme.test", role: "developer" });
  for (const environment of ["a", "a", "b", "production"]) await here.deploy(id, { environment });
  const generation = await createGeneration(here);
  await here.service.clock.advance("45s");
  const once = { "idempotency-key": "once" };
  const keyed = await post("/projects", { name: "keyed", region: "eu-west-1" }, once);
  await here.deploy(id, { environment: "c" });
  await here.service.clock.advance("2s");
  return { here, id, generation, keyed, once };
}

type Filled = Awaited<ReturnType<typeof filled>>;

/** Checks that another service, on a copy of the database, finishes the work of a filled service. */
export async function goesOn(next: World, { generation, keyed, once }: Filled): Promise<void> {
  const again = await next.call("owner", "POST", "/v1/projects", { name: "keyed", region: "eu-west-1" }, once);
  assert.deepEqual([again.status, again.body.id], [201, keyed.id], "the answer of the idempotency key");
  const { output } = expect(await next.call("owner", "GET", `/v1/generations/${generation.id}`), 200);
  const file = await next.service.fetch(output.url);
  assert.equal(file.status, 200, "the file of the generation");
  assert.ok((await file.arrayBuffer()).byteLength > 1_000);
  await next.service.clock.advance("3h");
  const { data } = expect(await next.call("viewer", "GET", "/v1/deployments"), 200);
  assert.deepEqual(
    data.map(({ status }: { status: string }) => status),
    Array(5).fill("active"),
  );
  assert.deepEqual(await next.service.invariants(), []);
}

const line = (row: object) =>
  JSON.stringify(Object.values(row).map((value) => (value === null ? null : String(value))));

/** All rows as lines, except those of migrations and of files. */
export function rowsOfFile(path: string): Record<string, string[]> {
  const database = new Database(path, { readonly: true });
  const names = database.prepare("select name from sqlite_schema where type = 'table' order by name").pluck().all();
  const rows = names.map((name) => [
    name,
    (database.prepare(`select * from "${name}"`).all() as object[]).map(line).sort(),
  ]);
  database.close();
  const { migrations: _, asset_parts: __, ...rest } = Object.fromEntries(rows);
  return rest;
}

export async function rowsOfPostgres(url: string): Promise<Record<string, string[]>> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const tables = await client.query("select tablename as name from pg_tables where schemaname = 'public' order by 1");
  const rows: Record<string, string[]> = {};
  for (const { name } of tables.rows)
    rows[name] = (await client.query(`select * from "${name}"`)).rows.map(line).sort();
  await client.end();
  const { migrations: _, asset_parts: __, ...rest } = rows;
  return rest;
}

export const filesOf = (folder: string) =>
  readdirSync(folder)
    .sort()
    .map((name) => [name, readFileSync(`${folder}/${name}`).toString("base64")]);
