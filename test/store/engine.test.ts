import assert from "node:assert/strict";
import { describe, test } from "node:test";
import Database from "better-sqlite3";
import { eventsRepository } from "../../lib/features/events/repository.ts";
import { Problem } from "../../lib/kernel/errors.ts";
import { paginate } from "../../lib/kernel/page.ts";
import { createQueries } from "../../lib/store/query.ts";
import { createStore } from "../../lib/store/store.ts";
import { newDatabase } from "../helpers/engines.ts";
import fc from "../helpers/fast-check.ts";
import { names, openTemporaryStore, put, type TemporaryStore } from "../helpers/temporary-store.ts";

/** The statements prepared from now on. */
function watchPrepare({ database }: TemporaryStore): string[] {
  const texts: string[] = [];
  const prepare = database.prepare.bind(database);
  database.prepare = ((text: string) => {
    texts.push(text);
    return prepare(text);
  }) as typeof database.prepare;
  return texts;
}

describe("statements", () => {
  test("a query is compiled and prepared once, and reused with other values", async (t) => {
    const room = openTemporaryStore(t);
    const texts = watchPrepare(room);
    let built = 0;
    const queries = createQueries(room.engine, room.engine.connection);
    const named = queries.first((db, p: { name: string }) => {
      built += 1;
      return db.selectFrom("settings").selectAll().where("name", "=", p.name);
    });
    await room.engine.transaction("all", (c) => put(c, "a", "1"));
    await room.engine.transaction("all", (c) => put(c, "b", "2"));
    assert.equal((await named({ name: "a" }))?.value, "1");
    assert.equal((await named({ name: "b" }))?.value, "2");
    assert.equal(await named({ name: "c" }), undefined);
    assert.equal(built, 1);
    assert.equal(texts.length, 2);
    assert.deepEqual(texts, room.engine.preparedSql());
  });

  test("values are bound and never part of the statement; a missing one is an error", async (t) => {
    const room = openTemporaryStore(t);
    const queries = createQueries(room.engine, room.engine.connection);
    const named = queries.first((db, p: { name: string }) =>
      db.selectFrom("settings").selectAll().where("name", "=", p.name),
    );
    await fc.assert(
      fc.asyncProperty(fc.string(), async (name) => {
        const clean = name.replaceAll("\0", "").toWellFormed();
        await room.engine.transaction("all", (c) => put(c, clean, "x"));
        assert.equal((await named({ name: clean }))?.name, clean);
        await room.engine.transaction("all", (c) => c.statement("delete from settings").run([]));
      }),
    );
    assert.equal(room.engine.preparedSql().length, 3);
    await assert.rejects(async () => named({} as { name: string }), /needs the parameter name/);
  });

  test("of many shapes of a query few are cached, and all of them work", async (t) => {
    const { engine } = openTemporaryStore(t);
    await engine.transaction("all", (c) => put(c, "a"));
    for (let i = 0; i < 600; i++) {
      const rows = await engine.connection.statement(`select name, ${i} as i from settings`).all([]);
      assert.deepEqual(rows, [{ name: "a", i }]);
    }
    assert.ok(engine.preparedSql().length <= 512, String(engine.preparedSql().length));
    const { rows } = createQueries(engine, engine.connection).pages({ table: "settings", within: [], key: "name" });
    for (const round of [1, 2]) {
      for (let per_page = 1; per_page <= 300; per_page++) {
        const place = { after: per_page % 2 ? "b" : undefined, page: round, per_page };
        assert.equal((await rows({}, place)).length, 1);
      }
    }
    assert.ok(engine.preparedSql().length <= 512, String(engine.preparedSql().length));
  });
});

describe("failures of the store", () => {
  const refused = (error: unknown) => {
    assert.ok(error instanceof Problem, String(error));
    assert.deepEqual([error.code, error.status], ["unavailable", 503]);
    assert.match(error.headers["retry-after"] ?? "", /^[1-9]\d*$/);
    assert.doesNotMatch(error.message, /SQLITE|sqlite/);
    return true;
  };

  test("on a full disk writes are refused as unavailable and reads work; free space ends that", async (t) => {
    const { engine, database, outside } = openTemporaryStore(t);
    const pages = database.pragma("page_count", { simple: true }) as number;
    database.pragma(`max_page_count = ${pages + 8}`);
    const big = "x".repeat(3_000);
    const stored: string[] = [];
    let failed = 0;
    for (let i = 0; i < 40; i++) {
      const name = `n${String(i).padStart(2, "0")}`;
      const each = [0, 1].map((half) => engine.transaction("all", (c) => put(c, `${name}.${half}`, big)));
      for (const [half, result] of (await Promise.allSettled(each)).entries()) {
        if (result.status === "fulfilled") stored.push(`${name}.${half}`);
        else failed += Number(refused(result.reason));
      }
    }
    assert.ok(stored.length > 4 && failed > 4, `${stored.length} stored, ${failed} refused`);
    assert.deepEqual(outside(), stored);
    assert.deepEqual(await names(engine.connection), stored);
    database.pragma(`max_page_count = ${pages + 100}`);
    await engine.transaction("all", (c) => put(c, "z", big));
    assert.deepEqual(outside(), [...stored, "z"]);
    assert.equal(database.pragma("integrity_check", { simple: true }), "ok");
  });

  test("while another program locks the file, writes are unavailable and reads work", async (t) => {
    const { engine, path, outside } = openTemporaryStore(t);
    const shell = new Database(path);
    shell.exec("BEGIN IMMEDIATE");
    await assert.rejects(
      engine.transaction("all", (c) => put(c, "x")),
      refused,
    );
    assert.deepEqual(await names(engine.connection), []);
    shell.close();
    await engine.transaction("all", (c) => put(c, "y"));
    assert.deepEqual(outside(), ["y"]);
  });

  test("writes wait in order for another program's lock, and the event loop goes on", async (t) => {
    const { engine, path, outside } = openTemporaryStore(t);
    const shell = new Database(path);
    t.after(() => shell.close());
    shell.exec("BEGIN IMMEDIATE");
    const done: string[] = [];
    const write = (name: string) => engine.transaction("all", (c) => put(c, name)).then(() => done.push(name));
    const first = write("b");
    for (let turn = 0; turn < 3; turn++) await new Promise((go) => setImmediate(go));
    const second = write("c");
    shell.exec("insert into settings values ('during', '')");
    shell.exec("COMMIT");
    await first;
    await write("d");
    await second;
    assert.deepEqual(done, ["b", "c", "d"]);
    assert.deepEqual(outside(), ["b", "c", "d", "during"]);
  });
});

test("pages contain every row that existed throughout exactly once, despite inserts and deletes between them", async (t) => {
  const { engine } = await newDatabase(t);
  const store = createStore(engine);
  const events = store.using(eventsRepository);
  const id = (n: number) => `evt_${String(n).padStart(26, "0")}`;
  const run = (sql: string) => engine.transaction("all", (c) => c.statement(sql).run([]));
  await run("insert into organizations values ('org_1', 'A', 'a', 'pro', ''), ('org_2', 'B', 'b', 'pro', '')");
  const add = (n: number, organization_id = "org_1") =>
    store.transaction("all", (tx) =>
      events(tx).insert({ id: id(n), organization_id, event: "x", timestamp: "2026-01-01T00:00:00.000Z", data: "{}" }),
    );
  const numbers = fc.uniqueArray(fc.nat(40), { maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(numbers, numbers, numbers, fc.integer({ min: 1, max: 7 }), async (first, come, go, per_page) => {
      await run("delete from events");
      for (const n of first) await add(n);
      await add(99, "org_2");
      const seen: string[] = [];
      let cursor: string | undefined;
      for (let page = 1; ; page++) {
        const found = await paginate({ per_page, cursor }, "events", { organization_id: "org_1" }, events().list);
        assert.ok(found.data.length <= per_page);
        assert.equal(found.page, page);
        seen.push(...found.data.map((row) => row.id));
        if (found.next_cursor === null) break;
        cursor = found.next_cursor;
        const [more, less] = [come.pop(), go.pop()];
        if (more !== undefined && !first.includes(more)) await add(more);
        if (less !== undefined && !first.includes(less)) await run(`delete from events where id = '${id(less)}'`);
      }
      assert.deepEqual(seen, seen.toSorted().reverse());
      assert.equal(new Set(seen).size, seen.length);
      for (const n of first) assert.ok(seen.includes(id(n)));
    }),
    { numRuns: 40 },
  );
});
