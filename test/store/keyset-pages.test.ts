import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { deploymentsRepository } from "../../lib/features/deployments/repository.ts";
import { createQueries } from "../../lib/store/query.ts";
import { openMemory } from "../../lib/store/sqlite/database-files.ts";
import { withoutPauses } from "../helpers/engine.ts";
import fc from "../helpers/fast-check.ts";
import { folderOf } from "../helpers/temporary-store.ts";
import { expect, start, world } from "../helpers/test-service.ts";

const many = 3_600;
const identifier = (prefix: string, number: number) => `${prefix}_${String(number).padStart(26, "0")}`;
const [large, ...small] = [0, 1, 2].map((number) => identifier("proj", number)) as [string, string, string];

/** More deployments than one batch of any index holds, in list order; those of the large project are the newest. */
const rows = Array.from({ length: many }, (_, i) => ({
  id: identifier("dep", many - i),
  project_id: i < 2_300 ? large : (small[i % 2] as string),
  environment: i === 1_700 || i === 3_500 ? "rare" : i % 2 ? "production" : "staging",
  // Half of them failed, but only a few of those in production.
  status: i === 2_500 || i === 3_599 ? "cancelled" : i % 2 && i % 201 ? "active" : "failed",
}));

/** Inserts the rows into a database; the large project may get another id. */
function fill(database: Database.Database, organization_id: string, project = large): void {
  database.pragma("foreign_keys = OFF");
  const insert = database.prepare(`
    insert into deployments (id, organization_id, project_id, environment, status, source, ready_at, created_at,
      updated_at, step_at, log_entries, log_bytes)
    values (@id, '${organization_id}', @project_id, @environment, @status, '{}', '${start}', '${start}', '${start}',
      '${start}', 0, 0)`);
  database.transaction(() => {
    for (const row of rows) insert.run({ ...row, project_id: row.project_id === large ? project : row.project_id });
  })();
}

const filters = fc.record(
  {
    project_id: fc.constantFrom(large, ...small, identifier("proj", 3)),
    environment: fc.constantFrom("production", "staging", "rare", "none"),
    status: fc.constantFrom("active", "cancelled", "failed", "queued") as fc.Arbitrary<"active">,
  },
  { requiredKeys: [] },
);
const places = fc.record({
  after: fc.option(fc.constantFrom(...rows.map(({ id }) => id)), { nil: undefined }),
  per_page: fc.constantFrom(1, 20, 100, Number.POSITIVE_INFINITY),
  page: fc.constant(1),
});

test("a list is complete and in order for all filters, however rare the matches and whatever is excluded", async (t) => {
  const { engine, database } = openMemory();
  t.after(() => engine.close());
  fill(database, "org");
  const { list } = deploymentsRepository(createQueries(engine, engine.connection));
  await fc.assert(
    fc.asyncProperty(filters, fc.subarray([large, ...small]), places, async (given, hidden, place) => {
      database.exec("delete from removals");
      for (const id of hidden) database.prepare("insert into removals values (?)").run(id);
      const all = rows.filter(
        (row) =>
          !hidden.includes(row.project_id) &&
          Object.entries(given).every(([name, value]) => row[name as keyof typeof row] === value),
      );
      const later = all.filter(({ id }) => place.after === undefined || id < place.after);
      const wanted = { organization_id: "org", ...given };
      const found = await list.rows(wanted, place);
      assert.deepEqual(
        found.map(({ id }) => id),
        later.slice(0, place.per_page + 1).map(({ id }) => id),
      );
      assert.equal(await list.total(wanted), all.length);
      assert.deepEqual(await list.rows({ ...wanted, organization_id: "another" }, place), []);
    }),
    { numRuns: 60 },
  );
});

/** The number of event loop ticks until a promise is settled. */
async function turnsOf(promise: Promise<unknown>): Promise<number> {
  let [ticks, over] = [0, false];
  const settled = promise.finally(() => {
    over = true;
  });
  const count = () => {
    if (over) return;
    ticks += 1;
    setImmediate(count);
  };
  setImmediate(count);
  await settled;
  return ticks;
}

test(
  "the event loop runs while a list searches for a rare deployment, or skips those of a large project",
  withoutPauses,
  async (t) => {
    const database = join(folderOf(t), "svc.db");
    const here = await world(t, { database });
    const project = await here.project("large");
    const file = new Database(database);
    fill(file, file.prepare("select organization_id from projects").pluck().get() as string, project.id);
    file.close();
    const list = async (query: string, who: "viewer" | "stranger" = "viewer") =>
      expect(await here.call(who, "GET", `/v1/deployments?${query}`), 200).data;
    const ticks = (query: string) => turnsOf(list(query));
    for (const common of [
      "",
      "environment=production",
      "status=active&environment=production",
      `project_id=${project.id}`,
    ])
      assert.equal(await ticks(common), 0, common);
    assert.equal(await ticks("environment=production&status=failed"), 2, "a batch of each index, and the rest of one");
    const foreign = list(`project_id=${project.id}`, "stranger");
    assert.deepEqual([await turnsOf(foreign), await foreign], [0, []], "another organization's is not even looked at");
    expect(await here.call("owner", "DELETE", `/v1/projects/${project.id}`), 204);
    assert.equal(await ticks(""), 2, "2,200 are skipped");
    assert.equal(await ticks("status=active"), 1, "1,100 are");
  },
);

test("the event loop runs while many deployments are counted", withoutPauses, async (t) => {
  const database = join(folderOf(t), "svc.db");
  const here = await world(t, { database, envelope: "full" });
  const { id } = await here.project("large");
  const file = new Database(database);
  file.exec(`with recursive n (i) as (select 1 union all select i + 1 from n where i < 4001)
    insert into deployments (id, organization_id, project_id, environment, status, source, ready_at, created_at,
      updated_at, step_at, log_entries, log_bytes)
    select 'dep_' || printf('%026d', i), organization_id, id, 'production', 'active', '{}', '', '${start}', '${start}',
      '', 0, 0 from n, projects`);
  file.close();
  for (const query of ["", "&environment=production", "&status=active", `&project_id=${id}`]) {
    const list = here.call("viewer", "GET", `/v1/deployments?per_page=1${query}`);
    assert.equal(await turnsOf(list), 2, query);
    assert.equal(expect(await list, 200).pagination.total, 4_001, query);
  }
});

test("a list that is read while the state is replaced is refused, and never mixes two states", async (t) => {
  const database = join(folderOf(t), "svc.db");
  const here = await world(t, { database });
  const { id } = await here.project("large");
  const snapshot = await here.service.snapshot();
  const file = new Database(database);
  fill(file, file.prepare("select organization_id from projects").pluck().get() as string, id);
  file.close();
  const walked = here.call("viewer", "GET", "/v1/deployments?environment=production&status=failed&per_page=100");
  await here.service.restore(snapshot.id);
  assert.match(expect(await walked, 503).error.message, /replaced/);
});
