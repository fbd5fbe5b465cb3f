import assert from "node:assert/strict";
import { sql } from "kysely";
import { yieldToEventLoop } from "../../../lib/kernel/node/event-loop.ts";
import type { Connection, Engine } from "../../../lib/store/engine.ts";
import { names } from "../../helpers/temporary-store.ts";
import { allOn, type Check, event, type Members, organization, plain, put, runOn, write } from "./check.ts";
import { jsonOf } from "./json.ts";
import { obstacle } from "./obstacle.ts";

export const engine: Record<Members<"Engine", Engine>, Check> = {
  "Engine.name": [
    "is that of its SQL",
    ({ opened, kind }) => assert.equal(opened.engine.name, kind === "postgres" ? "postgres" : "sqlite"),
  ],
  "Engine.db": [
    "writes SQL for its statements, and runs none",
    async ({ opened: { engine } }) => {
      const { db } = engine;
      await put(engine, "a", "1");
      await put(engine, "b", "2");
      const one = db.selectFrom("settings").selectAll().where("name", "=", "b").limit(1);
      assert.deepEqual(await allOn(engine.connection, one), [{ name: "b", value: "2" }]);
      const change = db.updateTable("settings").set({ value: "3" }).where("name", "in", ["a", "b"]);
      assert.equal(await engine.transaction("all", (c) => runOn(c, change)), 2);
      await assert.rejects(one.execute(), /Kysely has no connection here/);
    },
  ],
  "Engine.hasRowLocks": [
    "says whether its SQL can lock rows",
    async ({ opened: { engine } }) => {
      await put(engine, "a");
      const rows = engine.db.selectFrom("settings").select("name").modifyEnd(sql`for update skip locked`);
      const locked = engine.transaction("all", (connection) => allOn(connection, rows));
      if (engine.hasRowLocks) assert.deepEqual(await locked, [{ name: "a" }]);
      else await assert.rejects(locked, /syntax error/);
    },
  ],
  "Engine.later": [
    "moves an instant by signed seconds, to the millisecond",
    async ({ opened: { engine } }) => {
      const moved = async (from: string, by: string) => {
        await plain(engine, "delete from settings").then(() => put(engine, from, by));
        const later = engine.later(sql.ref("name"), sql.ref("value")).as("at");
        return (await allOn(engine.connection, engine.db.selectFrom("settings").select(later)))[0]?.at;
      };
      assert.equal(await moved("2026-01-01T00:00:00.000Z", "1.5"), "2026-01-01T00:00:01.500Z");
      assert.equal(await moved("2024-03-01T00:00:00.250Z", "-1"), "2024-02-29T23:59:59.250Z");
      assert.equal(await moved("2026-03-29T00:59:59.999Z", "315360000"), "2036-03-26T00:59:59.999Z");
    },
  ],
  ...jsonOf,
  "Engine.connection": [
    "reads what is committed, and refuses to write",
    async ({ opened: { engine } }) => {
      await put(engine, "a");
      await assert.rejects(write(engine, "b")(engine.connection), /a write outside of a transaction/);
      const returning = engine.db.insertInto("settings").values({ name: "c", value: "" }).returning("name");
      await assert.rejects(allOn(engine.connection, returning), /a write outside of a transaction/);
      assert.deepEqual(await names(engine.connection), ["a"]);
    },
  ],
  "Engine.transaction": [
    "is atomic, isolated and durable, beside another process too",
    async ({ opened: { engine }, another }) => {
      const failed = new Error("not today");
      const half = engine.transaction("all", async (connection) => {
        await write(engine, "half")(connection);
        throw failed;
      });
      await assert.rejects(half, (error) => error === failed);
      assert.deepEqual(await names(engine.connection), []);
      assert.equal(await engine.transaction({ organization_id: "org_1", deletes: true }, async () => 7), 7);

      const other = (await another?.())?.engine ?? engine;
      await engine.transaction("all", async (connection) => {
        await write(engine, "row 00")(connection);
        if (another) assert.deepEqual(await names(other.connection), []);
      });
      // In a transaction, since on SQLite the other reads of one tick share a snapshot.
      assert.deepEqual(await other.transaction("all", names), ["row 00"]);
      const add = async (connection: Connection) => {
        // Two transactions that read the same rows would write the same name.
        const rows = await names(connection);
        await write(engine, `row ${String(rows.length).padStart(2, "0")}`)(connection);
      };
      await Promise.all(Array.from({ length: 40 }, (_, i) => (i % 2 ? engine : other).transaction("all", add)));
      for (const each of [engine, other]) assert.equal((await names(each.connection)).length, 41);

      // A transaction of one organization and one of all run in the order of their calls.
      const seen = Array.from({ length: 10 }, (_, i) => {
        void engine.transaction("all", add);
        return engine.transaction({ organization_id: `org_${i}` }, names);
      });
      assert.deepEqual(
        (await Promise.all(seen)).map(({ length }) => length),
        seen.map((_, i) => 42 + i),
      );
    },
  ],
  "Engine.foreignCommitVersion": [
    "changes with the commits of others and not with its own, or equals nothing",
    async ({ opened: { engine }, another, kind }) => {
      const version = () => engine.transaction("all", async () => engine.foreignCommitVersion());
      const first = await version();
      if (kind === "postgres") return assert.ok(Number.isNaN(first));
      await put(engine, "own");
      assert.equal(await version(), first);
      if (!another) return;
      await put((await another()).engine, "foreign");
      assert.notEqual(await version(), first);
    },
  ],
  "Engine.size": [
    "is in bytes, and grows with the rows",
    async ({ opened: { engine } }) => {
      const before = await engine.size();
      assert.ok(before > 100_000, String(before));
      const text = Array.from({ length: 200_000 }, (_, i) => (i * i).toString(36)).join("");
      await put(engine, "large", text);
      assert.ok((await engine.size()) >= before + text.length / 2);
    },
  ],
  "Engine.logSize": [
    "is that of the write-ahead log of a file, and 0 elsewhere",
    async ({ opened: { engine }, kind }) => {
      await put(engine, "a");
      assert.equal(engine.logSize() > 0, kind === "file");
    },
  ],
  "Engine.isBusy": [
    "is true while PostgreSQL has not answered a read or a transaction",
    async ({ opened: { engine }, kind }) => {
      for (const work of [() => names(engine.connection), () => put(engine, "a")]) {
        const before = engine.isBusy();
        const working = work();
        const during = engine.isBusy();
        await working;
        await yieldToEventLoop();
        assert.deepEqual([before, during, engine.isBusy()], [false, kind === "postgres", false]);
      }
    },
  ],
  "Engine.isDuplicate": [
    "tells a violated unique constraint from every other error",
    async ({ opened: { engine } }) => {
      const failure = (text: string) =>
        plain(engine, text).then(
          () => assert.fail(text),
          (error: unknown) => error,
        );
      await put(engine, "a");
      await plain(engine, organization);
      for (const text of ["insert into settings values ('a', '')", organization.replace("org_1", "org_2")])
        assert.ok(engine.isDuplicate(await failure(text)), text);
      const others = [
        "insert into settings values ('b', null)",
        event("evt_1").replace("org_1", "org_none"),
        "insert into nothing values (1)",
      ];
      for (const text of others) assert.equal(engine.isDuplicate(await failure(text)), false, text);
      for (const error of [new Error("UNIQUE"), undefined, null, "x"]) assert.equal(engine.isDuplicate(error), false);
    },
  ],
  "Engine.preparedSql": [
    "has every statement once",
    async ({ opened: { engine } }) => {
      await put(engine, "a");
      await put(engine, "b");
      await names(engine.connection);
      const texts = engine.preparedSql();
      for (const start of ["select name from settings", 'insert into "settings"'])
        assert.equal(texts.filter((text) => text.startsWith(start)).length, 1, start);
    },
  ],
  ...obstacle,
  "Engine.started": [
    "finds room, and writes go on",
    async ({ opened: { engine } }) => {
      assert.equal(engine.started(), true);
      await put(engine, "a");
    },
  ],
  "Engine.close": [
    "waits for what was begun, refuses what comes later, and may be called twice",
    async ({ opened: { engine }, another }) => {
      const begun = Promise.all(["a", "b", "c"].map((name) => put(engine, name)));
      await engine.close();
      await begun;
      await engine.close();
      await assert.rejects(put(engine, "too late"));
      await assert.rejects(names(engine.connection));
      if (another) assert.deepEqual(await names((await another()).engine.connection), ["a", "b", "c"]);
    },
  ],
};
