import assert from "node:assert/strict";
import { describe, test } from "node:test";
import Database from "better-sqlite3";
import type { Queries } from "../../lib/store/query.ts";
import { createStore } from "../../lib/store/store.ts";
import { deferred, names, openTemporaryStore, put } from "../helpers/temporary-store.ts";

const commits = (lines: readonly string[]) => lines.filter((line) => line === "COMMIT").length;

describe("group commit", () => {
  test("transactions of one tick share one commit, and resolve after it", async (t) => {
    const { engine, sent, outside } = openTemporaryStore(t);
    const all = Array.from({ length: 50 }, (_, i) => `n${i}`).sort();
    const answers = all.map((name) =>
      engine.transaction("all", async (c) => {
        await put(c, name);
        assert.deepEqual(outside(), []);
        return name;
      }),
    );
    const seen = await Promise.all(answers.map((answer) => answer.then((name) => [name, outside().length] as const)));
    assert.deepEqual(
      seen,
      all.map((name) => [name, 50]),
    );
    const lines = sent();
    assert.equal(commits(lines), 1);
    assert.equal(lines.filter((line) => line === "BEGIN IMMEDIATE").length, 1);
  });

  test("more transactions than a group holds are spread over several, and none is lost", async (t) => {
    const { engine, sent, outside } = openTemporaryStore(t);
    await Promise.all(Array.from({ length: 600 }, (_, i) => engine.transaction("all", (c) => put(c, `n${i}`))));
    assert.equal(outside().length, 600);
    assert.equal(commits(sent()), 2);
  });

  test("a group at its limit leaves the rest to the next tick, in order", async (t) => {
    const { engine, outside } = openTemporaryStore(t);
    const work = (name: string) =>
      engine.transaction("all", async (c) => {
        const stored = outside().length;
        await put(c, name);
        for (let i = 1; i < 200; i++) await names(c);
        return stored;
      });
    const all = ["a", "b", "c", "d", "e", "f", "g"];
    assert.deepEqual(await Promise.all(all.map(work)), [0, 0, 0, 3, 3, 3, 6]);
    assert.deepEqual(outside(), all);
  });

  test("one of two that fails rolls back its own writes alone", async (t) => {
    for (const fails of ["first", "second"]) {
      const { engine, outside } = openTemporaryStore(t);
      const work = (name: string) =>
        engine.transaction("all", async (c) => {
          await put(c, name);
          if (name === fails) throw new Error("no");
        });
      const results = await Promise.allSettled(["first", "second"].map(work));
      assert.equal(results.filter(({ status }) => status === "rejected").length, 1);
      assert.deepEqual(outside(), fails === "first" ? ["second"] : ["first"]);
    }
  });

  test("a member that fails rolls back its own writes and no others", async (t) => {
    const { engine, sent, outside } = openTemporaryStore(t);
    const bad = new Error("no");
    const results = await Promise.allSettled([
      engine.transaction("all", (c) => put(c, "before")),
      engine.transaction("all", async (c) => {
        await put(c, "bad");
        throw bad;
      }),
      engine.transaction("all", async (c) => {
        await put(c, "twice");
        await put(c, "before");
      }),
      engine.transaction("all", async (c) => {
        await assert.rejects(put(c, "before"), engine.isDuplicate);
        await put(c, "after");
      }),
    ]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ["fulfilled", "rejected", "rejected", "fulfilled"],
    );
    assert.equal((results[1] as PromiseRejectedResult).reason, bad);
    assert.deepEqual(outside(), ["after", "before"]);
    assert.equal(commits(sent()), 1);
  });

  test("a member that awaits something other than the store is rolled back with its group", async (t) => {
    const { engine, outside } = openTemporaryStore(t);
    const late = deferred();
    const straggler = deferred<unknown>();
    const before = engine.foreignCommitVersion();
    const results = await Promise.allSettled([
      engine.transaction("all", (c) => put(c, "innocent")),
      engine.transaction("all", async (c) => {
        await put(c, "slow");
        await late.promise;
        await put(c, "late").catch(straggler.open);
      }),
    ]);
    for (const result of results) {
      assert.ok(result.status === "rejected");
      assert.match(result.reason.message, /awaited something other than the store/);
    }
    assert.notEqual(engine.foreignCommitVersion(), before, "reads may have seen its rows");
    late.open();
    assert.match(String(await straggler.promise), /a write outside of a transaction/);
    await engine.transaction("all", (c) => put(c, "next"));
    assert.deepEqual(outside(), ["next"]);
  });

  test("a nested transaction is rolled back, and blocks no other", async (t) => {
    const { engine, outside } = openTemporaryStore(t);
    const inner = deferred<unknown>();
    const outer = engine.transaction("all", async (c) => {
      await put(c, "outer");
      await engine.transaction("all", async () => {}).then(inner.open, inner.open);
    });
    await assert.rejects(outer, /awaited something other than the store/);
    await inner.promise;
    await engine.transaction("all", (c) => put(c, "next"));
    assert.deepEqual(outside(), ["next"]);
  });

  test("a failed commit rolls back and rejects every member", async (t) => {
    const { engine, outside, database } = openTemporaryStore(t);
    const ran: string[] = [];
    const store = createStore(engine);
    const broken = "insert into environments (project_id, name, variables) values ('proj_none', 'x', '{}')";
    const results = await Promise.allSettled([
      store.transaction("all", async (tx) => tx.afterCommit(() => ran.push("never"))),
      engine.transaction("all", async (c) => {
        database.pragma("defer_foreign_keys = ON");
        await c.statement(broken).run([]);
        await put(c, "lost");
      }),
    ]);
    assert.ok(results.every(({ status }) => status === "rejected"));
    assert.deepEqual([ran, outside()], [[], []]);
    await engine.transaction("all", (c) => put(c, "next"));
    assert.deepEqual(outside(), ["next"]);
  });
});

/** Shaped like a repository. */
const settings = (query: Queries) => ({
  insert: query.insert("settings"),
  all: query.all((db, _: object) => db.selectFrom("settings").select("name").orderBy("name")),
  named: query.first((db, p: { name: string }) => db.selectFrom("settings").selectAll().where("name", "=", p.name)),
});

describe("the store", () => {
  test("afterCommit callbacks run after the commit, in order, and never after a rollback", async (t) => {
    const { engine, outside } = openTemporaryStore(t);
    const store = createStore(engine);
    const rows = store.using(settings);
    const ran: unknown[] = [];
    const work = (name: string, fails = false) =>
      store.transaction("all", async (tx) => {
        tx.afterCommit(() => ran.push([name, outside()]));
        await rows(tx).insert({ name, value: "" });
        if (fails) throw new Error("no");
        assert.deepEqual(ran, []);
      });
    await Promise.allSettled([work("a"), work("b", true), work("c")]);
    assert.deepEqual(ran, [
      ["a", ["a", "c"]],
      ["c", ["a", "c"]],
    ]);
  });

  test("the replay of a request is stored with its work, or neither is", async (t) => {
    const { engine, outside } = openTemporaryStore(t);
    const store = createStore(engine);
    const rows = store.using(settings);
    const work = (name: string, remember: string) =>
      store.transaction(
        {
          organization_id: "org_1",
          hooks: { after: (tx, _, result) => rows(tx).insert({ name: remember, value: String(result) }) },
        },
        async (tx) => {
          await rows(tx).insert({ name, value: "" });
          return name;
        },
      );
    assert.equal(await work("a", "answer"), "a");
    assert.equal((await rows().named({ name: "answer" }))?.value, "a");
    await assert.rejects(work("b", "answer"), engine.isDuplicate);
    assert.deepEqual(outside(), ["a", "answer"]);
  });

  test("a finished transaction and a foreign one are refused", async (t) => {
    const { engine } = openTemporaryStore(t);
    const rows = createStore(engine).using(settings);
    const kept = await createStore(engine).transaction("all", async (tx) => tx);
    assert.throws(() => rows(kept), /this transaction has ended/);
    assert.throws(
      () => rows({ tell() {}, afterCommit() {}, lockLimit: () => undefined }),
      /this transaction has ended/,
    );
  });

  test("the reads of a tick share a snapshot, which ends with the tick and before any write", async (t) => {
    const { engine, path, sent } = openTemporaryStore(t);
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    const other = new Database(path);
    t.after(() => other.close());
    const write = other.prepare("insert into settings (name, value) values (?, '')");
    await turn();
    sent();

    assert.deepEqual(await names(engine.connection), []);
    write.run("outside");
    assert.deepEqual(await names(engine.connection), []);
    await assert.rejects(put(engine.connection, "x"), /a write outside of a transaction/);
    await turn();
    const control = sent().filter((line) => /^(BEGIN|COMMIT|ROLLBACK)/.test(line));
    assert.deepEqual(control, ["BEGIN", "ROLLBACK"]);
    assert.deepEqual(await names(engine.connection), ["outside"]);

    // A transaction queued in the tick of a read sees later commits.
    const before = names(engine.connection);
    const inside = engine.transaction("all", async (connection) => {
      await put(connection, "inside");
      return names(connection);
    });
    write.run("later");
    assert.deepEqual([await before, await inside], [["outside"], ["inside", "later", "outside"]]);
    assert.deepEqual(await names(engine.connection), ["inside", "later", "outside"]);
    assert.deepEqual(await engine.betweenTransactions(() => "alone"), "alone");
  });
});
