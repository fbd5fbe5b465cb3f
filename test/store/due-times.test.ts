import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { createRandom } from "../../lib/kernel/random.ts";
import { dueTimes } from "../../lib/store/due-times.ts";
import { openMemory } from "../../lib/store/sqlite/database-files.ts";
import { runSteps } from "../helpers/all-operations.ts";
import { folderOf } from "../helpers/temporary-store.ts";
import { world } from "../helpers/test-service.ts";

/**
 * The instants that stay unchanged when the machine's clock is set: they record when something happened, were shown to
 * people, or follow the clock of PostgreSQL. A new column of instants belongs here, or among the due times of
 * `lib/store/due-times.ts` if work waits for it.
 */
const history = `
  settings.value
  organizations.created_at
  users.joined_at
  api_keys.created_at api_keys.expires_at api_keys.last_used_at
  sessions.created_at sessions.expires_at used_sign_ins.expires_at
  invitations.invited_at invitations.expires_at
  projects.created_at projects.updated_at
  deployments.created_at deployments.updated_at deployments.completed_at deployments.deployed_at
  deployment_logs.timestamp
  app_logs.timestamp apps.restarts_since apps.hour_since apps.mailed_at
  schedule_runs.started_at schedule_runs.ended_at
  events.timestamp events.data
  mails.sent_at
  audit_log.at
  endpoints.created_at endpoints.succeeded_at
  deliveries.created_at deliveries.body
  delivery_attempts.at delivery_attempts.response
  generations.created_at generations.completed_at
  generation_usage.date
  rate_windows.started_at
  runtimes.lease_since runtimes.lease_until
  given_up_hosts.until
  previews.changed_at previews.updated_at`;

const moved: readonly string[] = dueTimes.map(([table, column]) => `${table}.${column}`);
const stays: readonly string[] = history.trim().split(/\s+/);

/** The columns that hold instants, by name: those that end in `_at`, and a few older ones. */
function columnsOf(database: ReturnType<typeof openMemory>["database"]): string[] {
  const tables = database.pragma("table_list") as { name: string }[];
  return tables
    .filter(({ name }) => !name.startsWith("sqlite_"))
    .flatMap(({ name }) =>
      (database.pragma(`table_info(${name})`) as { name: string }[]).map((column) => `${name}.${column.name}`),
    );
}
const isNamedInstant = (column: string) => /(\.|_)(at|until|since|due|date|time|timestamp|deadline)$/.test(column);

test("each column of instants moves with the machine's clock or says when something happened", async () => {
  const { database, engine } = openMemory();
  const columns = columnsOf(database);
  assert.deepEqual(
    columns.filter(isNamedInstant).filter((column) => !moved.includes(column) && !stays.includes(column)),
    [],
    "list them in lib/store/due-times.ts if work waits for them, else here",
  );
  assert.deepEqual(
    moved.filter((column) => stays.includes(column)),
    [],
    "listed twice",
  );
  assert.deepEqual(
    [...moved, ...stays].filter((column) => !columns.includes(column)),
    [],
    "there are no such columns",
  );
  await engine.close();
});

test("no other column holds an instant once every operation was called", async (t) => {
  const file = join(folderOf(t), "svc.db");
  const here = await world(t, { database: file, rateLimit: 0, generations: { media: "fast" } });
  await runSteps(here, createRandom("due times"), 0);
  await here.service.close();
  const database = new Database(file, { readonly: true });
  t.after(() => database.close());
  const found = columnsOf(database).filter((column) => {
    const [table, name] = column.split(".");
    return database.prepare(`select 1 from ${table} where ${name} glob '*20[0-9][0-9]-[01][0-9]-[0-3][0-9]*'`).get();
  });
  assert.deepEqual(
    found.filter((column) => !moved.includes(column) && !stays.includes(column)),
    [],
  );
  for (const column of ["jobs.run_at", "events.timestamp"]) assert.ok(found.includes(column), column);
});
