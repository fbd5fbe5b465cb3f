import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import type { Database } from "better-sqlite3";
import type { Connection } from "../../lib/store/engine.ts";
import { createQueries, type Queries } from "../../lib/store/query.ts";
import { openMemory } from "../../lib/store/sqlite/database-files.ts";

/** The allowed scans, each with its reason. Every other query must use an index. */
const exceptions: readonly (readonly [plan: RegExp, text: RegExp, reason: string])[] = [
  [/^SCAN jobs USING (COVERING )?INDEX jobs_due$/, /order by "run_at", "id" limit \d+/, "stops at the first due job"],
  [/^SCAN jobs USING (COVERING )?INDEX jobs_leased$/, /state = 'running'/, "what runs is bounded by the loop"],
  [/^SCAN environments USING COVERING INDEX \S+$/, /where apps\.slug is null$/, "once, at a start with a runtime"],
  [/^SCAN jobs USING INDEX jobs_suspects$/, /"crashes" >= 3/, "only suspects are in the index"],
  [
    /^SCAN deployments USING (COVERING )?INDEX deployments_running$/,
    /status in \('building', 'deploying'\)/,
    "what runs is bounded by the option deployments.concurrency",
  ],
  [
    /^SCAN found$|^USE TEMP B-TREE FOR ORDER BY$/,
    /with recursive found/,
    "the few projects of one repository, each found by a step in the index",
  ],
  [/^SCAN ended$/, /with recursive ended/, "the keys that came of one, each found by a step in the index"],
  [
    /^SCAN apps USING INDEX apps_live$/,
    /deployment_id is not null (order by|and runtime_id is null$)/,
    "at the start, every live release is brought back, or taken over from a database file",
  ],
  [
    /^SCAN generations USING (COVERING )?INDEX generations_running$/,
    /status = 'in_progress'/,
    "what runs is bounded by the option generations.concurrency",
  ],
  [
    /^SCAN (jobs|deployments|generations) USING COVERING INDEX \w+_(due|queue|waiting)$|^SCAN endpoints$/,
    /^select count\(\*\) .* (from "endpoints" cross join "deliveries"|(state|status) = '(waiting|queued)').*\) as found limit 10000\) as counted$/,
    "a scrape of the metrics counts what waits, and only that is in these indexes",
  ],
  [
    /^SCAN counted$/,
    /^select count\(\*\) as number from \(select 1 .* limit 10000\) as counted$/,
    "counts what was found",
  ],
  [
    /^SCAN organizations USING (COVERING )?INDEX/,
    /order by "id" limit/,
    "whether there is one at all: stops at the first; and the thousand first ones of the mode dev",
  ],
  [
    /^SCAN removals( EXISTS)?$/,
    /exists \(select project_id from removals\)/,
    "whether a large project is on its way out: stops at the first",
  ],
  [
    /^SCAN organizations USING COVERING INDEX/,
    /^select "organizations"."id" as "organization_id", \(select max/,
    "where a process begins to hear the events of each organization",
  ],
  [
    /^SCAN organizations USING COVERING INDEX/,
    /^select "id" from "organizations" order by "id"$/,
    "the audit log of each organization, once a day",
  ],
  [/^SCAN apps USING COVERING INDEX/, /^select "slug" from "apps"$/, "whether there is one at all: stops at the first"],
  [/^SCAN next$/, /limit 500\) as "next"/, "the next events of some organizations"],
  [/^SCAN runtimes USING INDEX/, /from "runtimes" order by "id"$/, "the few servers of a service"],
  [
    /^SCAN jobs$/,
    /^(update "jobs" set "kind" = \?|delete from "jobs" where kind like)/,
    "once, when a runtime is gone",
  ],
  [/^SCAN batch$/, /from \(select .* order by "\w+" (desc|asc) limit [12]000\) as batch/, "one batch of an index"],
  [/^SCAN scenarios( USING INDEX .*)?$/, /"scenarios"/, "a tester's own few, asked in the mode dev alone"],
  [
    /^SCAN mails$|^SCAN mails USING INDEX/,
    /^select \* from "mails" order by "id"$/,
    "the operator asks for every mail",
  ],
  [/^SCAN mails$/, /^delete from "mails" where "status" <> \?$/, "the tester clears the mails of the mode dev"],
];

/** A value of the right type for any parameter, by its name. */
const anything = new Proxy({}, { get: (_, name) => (/^(seq|before|attempt|requests)$/.test(String(name)) ? 1 : "x") });

interface Listed {
  readonly table: string;
  readonly within: readonly string[];
  readonly filters?: readonly string[];
}

/** Runs every query of every repository once, and every shape of every list. */
async function everyText(): Promise<{
  texts: string[];
  database: Database;
  lists: number;
  close: () => Promise<void>;
}> {
  const { engine, database } = openMemory();
  const files = readdirSync("lib", { recursive: true }).map((name) => String(name).replaceAll("\\", "/"));
  let lists = 0;
  for (const file of files.filter((file) => /[/-]repository\.ts$/.test(file))) {
    const before = file.slice(0, -"repository.ts".length);
    const module = (await import(`../../lib/${before}repository.ts`)) as Record<string, unknown>;
    for (const repository of Object.values(module)) {
      if (typeof repository !== "function") continue;
      await engine
        .transaction("all", async (connection) => {
          const queries = createQueries(engine, connection);
          const listed: (readonly [Listed, ReturnType<Queries["pages"]>])[] = [];
          const pages: Queries["pages"] = (list) => {
            const made = queries.pages(list);
            listed.push([list as unknown as Listed, made as unknown as ReturnType<Queries["pages"]>]);
            return made;
          };
          // Inserts are skipped: they have no plan, and take their columns from the row.
          const insert: Queries["insert"] = () => async () => {};
          await callAll(repository({ ...queries, pages, insert, insertOnce: insert, insertUnique: insert }));
          for (const [list, made] of listed) await everyShape(list, made);
          await hideProject(connection);
          for (const [list, made] of listed) await everyShape(list, made);
          lists += listed.length;
          throw undone;
        })
        .catch((error) => assert.equal(error, undone));
    }
  }
  return { texts: engine.preparedSql(), database, lists, close: () => engine.close() };
}

const undone = new Error("nothing of this is to stay");

async function callAll(members: object): Promise<void> {
  for (const member of Object.values(members)) {
    // A constraint may refuse the values, but the statement is prepared by then.
    if (typeof member === "function") await Promise.resolve(member(anything)).catch(() => {});
    else if (!("rows" in member)) await callAll(member);
  }
}

/** Hides a project, since lists use other statements while they exclude rows. */
async function hideProject(connection: Connection): Promise<void> {
  for (const insert of [
    "insert into organizations values ('o', 'o', 'o', 'pro', '')",
    "insert into projects values ('p', 'o', 'p', 'p', 'eu', null, 'active', '', '')",
    "insert into removals values ('p')",
  ])
    await connection.statement(insert).run([]);
}

async function everyShape({ within, filters = [] }: Listed, list: ReturnType<Queries["pages"]>): Promise<void> {
  for (let mask = 0; mask < 2 ** filters.length; mask++) {
    const given = [...within, ...filters.filter((_, i) => mask & (1 << i))];
    const values = Object.fromEntries(given.map((name) => [name, "x"]));
    await list.total(values);
    for (const per_page of [20, Number.POSITIVE_INFINITY])
      for (const after of [undefined, "x"]) await list.rows(values, { after, page: 1, per_page });
  }
}

/** The text without its quoted parts. */
const bare = (text: string) => text.replaceAll(/'[^']*'/g, "''");

const planOf = (database: Database, text: string): string[] => {
  const values = [...bare(text).matchAll(/\?/g)].map(() => "x");
  const steps = database.prepare(`explain query plan ${text}`).all(...values) as { detail: string }[];
  return steps.map(({ detail }) => detail);
};

test("every query finds its rows through an index, in order, and none uses OFFSET", async () => {
  const { texts, database, lists, close } = await everyText();
  assert.ok(texts.length > 100 && lists >= 7, `${texts.length} texts, ${lists} lists`);
  const used = new Set<RegExp>();
  const wrong: string[] = [];
  for (const text of texts) {
    // The runs of one schedule that are kept: a walk of 999 steps in an index, once a run.
    if (/\boffset\b/i.test(bare(text)) && !text.startsWith('delete from "schedule_runs"'))
      wrong.push(`OFFSET: ${text}`);
    for (const step of planOf(database, text)) {
      if (!/SCAN|TEMP B-TREE/.test(step) || step === "SCAN CONSTANT ROW") continue;
      const allowed = exceptions.find(([plan, words]) => plan.test(step) && words.test(text));
      if (allowed) used.add(allowed[0]);
      else wrong.push(`${step}: ${text}`);
    }
  }
  await close();
  assert.deepEqual(wrong, []);
  assert.deepEqual(
    exceptions.filter(([plan]) => !used.has(plan)).map(([, , reason]) => reason),
    [],
    "exceptions that nothing needs any more",
  );
});

test("a million deployments change no plan: without statistics SQLite assumes that every table is large", async () => {
  const { texts, database, close } = await everyText();
  const plans = () => texts.map((text) => `${planOf(database, text).join("; ")}: ${text}`);
  const before = new Set(plans());
  database.pragma("foreign_keys = OFF");
  database.exec(`
    with recursive n (i) as (select 1 union all select i + 1 from n where i < 1000000)
    insert into deployments (id, organization_id, project_id, environment, status, source, ready_at, created_at,
      updated_at, step_at, log_entries, log_bytes)
    select printf('%07d', i), 'o', 'p', 'e', 'active', '', '', '', '', '', 0, 0 from n`);
  database.pragma("foreign_keys = ON");
  const changed = plans().filter((plan) => !before.has(plan));
  const statistics = database.prepare("select name from sqlite_schema where name like 'sqlite_stat%'").all();
  await close();
  assert.deepEqual(changed, []);
  assert.deepEqual(statistics, [], "nothing analyzes the database");
});

test("every limit is a literal, because SQLite prepares a statement with a bound limit again at each execution", async () => {
  const { texts, close } = await everyText();
  await close();
  assert.deepEqual(
    texts.filter((text) => /limit \?/.test(text)),
    [],
  );
});

test("deleting a record finds its dependent rows through an index", async () => {
  const { database, engine } = openMemory();
  const tables = database.pragma("table_list") as { name: string; type: string }[];
  const wrong: string[] = [];
  for (const { name } of tables.filter(({ name, type }) => type === "table" && !name.startsWith("sqlite_"))) {
    const keys = database.pragma(`foreign_key_list(${name})`) as { from: string; table: string }[];
    const indexes = database.pragma(`index_list(${name})`) as { name: string; partial: number }[];
    const first = indexes
      .filter(({ partial }) => !partial)
      .map((index) => (database.pragma(`index_info(${index.name})`) as { name: string }[])[0]?.name);
    // Organizations are never removed, so references to them need no index.
    for (const { from, table } of keys)
      if (table !== "organizations" && !first.includes(from)) wrong.push(`${name}.${from}`);
  }
  await engine.close();
  assert.deepEqual(wrong, []);
});
