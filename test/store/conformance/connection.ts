import assert from "node:assert/strict";
import type { Connection, Engine, Statement } from "../../../lib/store/engine.ts";
import { deferred, names } from "../../helpers/temporary-store.ts";
import { type Check, event, type Members, organization, plain, put, runOn } from "./check.ts";
import { hearing } from "./cluster.ts";

export const statement: Record<Members<"Statement", Statement>, Check> = {
  "Statement.all": [
    "answers every row with plain values, text in the order of its bytes",
    async ({ opened: { engine } }) => {
      const { connection } = engine;
      const values = "select count(*) as a, 9007199254740991 as b, sum(cast(2 as bigint)) as c, null as d, '' as e";
      const row = { a: 1, b: 2 ** 53 - 1, c: 2, d: null, e: "" };
      assert.deepEqual(await connection.statement(values).all([]), [row]);
      assert.deepEqual(await names(connection), []);
      const texts = ["b", "B", "a", "~", "Z", "é", "ß", "'", '"; --', "\u{1f600}", "\u{fffd}", "a\tb\n"];
      for (const text of texts) await put(engine, text);
      assert.deepEqual(
        await names(connection),
        texts.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
      );
    },
  ],
  "Statement.first": [
    "answers the first row, and undefined for none",
    async ({ opened: { engine } }) => {
      const first = engine.connection.statement("select name from settings order by name");
      assert.equal(await first.first([]), undefined);
      for (const name of ["b", "a"]) await put(engine, name);
      assert.deepEqual(await first.first([]), { name: "a" });
    },
  ],
  "Statement.run": [
    "answers how many rows it changed",
    async ({ opened: { engine } }) => {
      const change = (name: string) =>
        engine.transaction("all", (c) => runOn(c, engine.db.deleteFrom("settings").where("name", "<=", name)));
      for (const name of ["a", "b", "c"]) assert.equal(await put(engine, name), 1);
      assert.deepEqual([await change("b"), await change("b"), await change("c")], [2, 0, 1]);
    },
  ],
  "Statement.send": [
    "writes in the order of the calls, and a failure fails the transaction",
    async ({ opened: { engine } }) => {
      const { sql: text } = engine.db.insertInto("settings").values({ name: "", value: "" }).compile();
      await engine.transaction("all", async (c) => {
        for (const name of ["a", "b"]) await c.statement(text).send([name, ""]);
        assert.equal(await runOn(c, engine.db.deleteFrom("settings").where("name", "=", "a")), 1);
      });
      assert.deepEqual(await names(engine.connection), ["b"]);
      const twice = (after: (c: Connection) => Promise<unknown>) =>
        engine.transaction("all", async (c) => {
          for (const name of ["c", "b", "d"]) await c.statement(text).send([name, ""]);
          await after(c);
        });
      const isDuplicate = (error: unknown) => engine.isDuplicate(error);
      await assert.rejects(
        twice(async () => {}),
        isDuplicate,
      );
      await assert.rejects(twice(names), isDuplicate);
      await assert.rejects(
        twice(async (c) => c.tell?.("a message")),
        isDuplicate,
      );
      assert.deepEqual(await names(engine.connection), ["b"]);
    },
  ],
};

export const connection: Record<Members<"Connection", Connection>, Check> = {
  "Connection.statement": [
    "is prepared for any connection and number of runs, with other values each time",
    async ({ opened: { engine } }) => {
      const { sql: text } = engine.db.insertInto("settings").values({ name: "", value: "" }).compile();
      for (const name of ["a", "b"]) await engine.transaction("all", (c) => c.statement(text).run([name, ""]));
      await engine.transaction("all", async (c) => {
        const kept = c.statement(text);
        for (const name of ["c", "d"]) await kept.run([name, ""]);
        assert.deepEqual(await names(c), ["a", "b", "c", "d"]);
      });
      assert.deepEqual(await names(engine.connection), ["a", "b", "c", "d"]);
      await assert.rejects(async () => engine.connection.statement("select from nowhere to").all([]));
    },
  ],
  "Connection.tell": [
    "sends messages to other processes with the commit, in its order, and none after a rollback",
    async (room) => {
      const { opened, kind } = room;
      const telling = (...words: string[]) =>
        opened.engine.transaction("all", async (c) => {
          assert.equal(c.tell !== undefined, kind === "postgres");
          for (const word of words) c.tell?.(word);
          if (words.includes("undone")) throw new Error("no");
        });
      if (kind !== "postgres") return telling("nobody hears it");
      const { heard, until } = await hearing(room);
      const long = "x".repeat(5_000);
      await telling("one", "two", "two");
      await assert.rejects(telling("undone"), /no/);
      await telling(long, `${long}y`, "three 'quoted' \\ \u{1f600}");
      await telling("end");
      await until("end");
      assert.deepEqual(heard, ["one", "two", long, `${long}y`, "three 'quoted' \\ \u{1f600}", "end"]);
    },
  ],
  "Connection.newest": [
    "is the event of all processes that comes before those of the transaction",
    async ({ opened: { engine }, another, kind }) => {
      const newest = () => engine.transaction("all", async (c) => c.newest);
      assert.equal(await newest(), undefined);
      await plain(engine, organization);
      await plain(engine, event("evt_1"));
      if (another) await plain((await another()).engine, event("evt_2"));
      assert.equal(await newest(), kind === "postgres" ? "evt_2" : undefined);
    },
  ],
  "Connection.shared": [
    "stands for the transactions that are committed together, which read what earlier ones wrote and did not undo",
    async ({ opened: { engine }, kind }) => {
      const own = { organization_id: "org_1" };
      const groups = await Promise.all([1, 2, 3].map(() => engine.transaction(own, async (c) => c.shared)));
      assert.equal(groups[1] !== undefined, kind === "postgres");
      assert.equal(groups[1], groups[2]);
      assert.equal(await engine.transaction("rows", async (c) => c.shared), undefined);

      await plain(engine, organization);
      const values = ["a", "b", "c"].map((id) => `('${id}', 'org_1', '${id}', '${id}', '', null, 'active', '', '')`);
      await plain(engine, `insert into projects values ${values}`);
      const { sql: text } = engine.db.selectFrom("removals").selectAll().compile();
      const removed = async (c: Connection) => (await c.statement(text, { isShared: true }).all([])).length;
      const remove = (project_id: string) => (c: Connection) =>
        runOn(c, engine.db.insertInto("removals").values({ project_id }));
      const failing = async (c: Connection) => {
        await remove("b")(c);
        assert.equal(await removed(c), 2);
        throw new Error("undone");
      };
      const works = [removed, removed, remove("a"), removed, failing, removed, remove("c"), removed];
      const ends = await Promise.allSettled(works.map((work) => engine.transaction(own, work)));
      const counts = ends.map((end) => (end.status === "fulfilled" ? end.value : "failed"));
      assert.deepEqual(counts, [0, 0, 1, 1, "failed", 1, 1, 2]);
    },
  ],
  "Connection.lockLimit": [
    "lets one transaction at a time past a limit, of whatever organization",
    async ({ opened: { engine }, another, kind }) => {
      if (kind !== "postgres") return engine.transaction("all", async (c) => assert.equal(c.lockLimit, undefined));
      const other = (await another?.())?.engine ?? engine;
      const order: string[] = [];
      const [isPast, mayEnd] = [deferred(), deferred()];
      const pass = (on: Engine, organization_id: string, limit: "deployments" | "generations", then = async () => {}) =>
        on.transaction({ organization_id }, async (c) => {
          await c.lockLimit?.(limit);
          order.push(organization_id);
          await then();
        });
      const first = pass(engine, "org_1", "deployments", async () => {
        isPast.open();
        await mayEnd.promise;
        order.push("org_1 ends");
      });
      await isPast.promise;
      const second = pass(other, "org_2", "deployments");
      await pass(other, "org_3", "generations");
      mayEnd.open();
      await Promise.all([first, second]);
      assert.deepEqual(order, ["org_1", "org_3", "org_1 ends", "org_2"]);
    },
  ],
};
