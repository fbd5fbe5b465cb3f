import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Connection, Engine, EngineScope } from "../../lib/store/engine.ts";
import { openPostgres } from "../../lib/store/postgres/open.ts";
import { deferred } from "../helpers/temporary-store.ts";
import { firstOf } from "../helpers/until.ts";
import { emptyDatabase } from "./databases.ts";

const putIn = "insert into settings (name, value) values ($1, '')";
const put = (connection: Connection, name: string) => connection.statement(putIn).run([name]);
const [one, two] = [{ organization_id: "org_1" }, { organization_id: "org_2" }];
const everything = "all" as const;

/** Two processes on an empty database. `settled` waits until no transaction holds or waits for a lock. */
async function twoProcesses(t: TestContext) {
  const { url, ask } = await emptyDatabase(t);
  const open = async () => {
    const { engine } = await openPostgres(url, { isServer: true });
    t.after(() => engine.close());
    return engine;
  };
  const locks = async () => {
    const [row] = await ask(`select count(*)::int as locks from pg_locks
      where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database()) and not (objsubid = 2 and objid = 2)`);
    return row.locks;
  };
  /** Resolves once a transaction waits for a lock. */
  const isWaiting = () =>
    firstOf(async () => {
      const [row] = await ask(
        "select count(*)::int as waiting from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
      );
      return row.waiting > 0 ? true : undefined;
    });
  return { first: await open(), second: await open(), ask, locks, isWaiting };
}

/** A transaction that stays open until `end`. */
async function holding(engine: Engine, options: EngineScope) {
  const [begun, mayEnd] = [deferred(), deferred()];
  const ended = engine.transaction(options, async () => {
    begun.open();
    await mayEnd.promise;
  });
  await begun.promise;
  return () => {
    mayEnd.open();
    return ended;
  };
}

test("transactions of two organizations do not wait for each other, in one process or two", async (t) => {
  const { first, second, locks } = await twoProcesses(t);
  const end = await holding(first, one);
  for (const engine of [first, second]) {
    assert.equal(await engine.transaction(two, async () => 2), 2);
    // Claims, leases and counters do not wait either.
    assert.equal(await engine.transaction("rows", async () => 3), 3);
  }
  await end();
  assert.equal(await locks(), 0);
});

for (const [name, held, next] of [
  ["one organization", one, one],
  ["an organization and of all of them", one, everything],
  ["all organizations and of one", everything, two],
  ["all organizations", everything, everything],
] as const)
  test(`transactions of ${name} wait for each other, in one process and two`, async (t) => {
    const { first, second, locks, isWaiting } = await twoProcesses(t);
    const order: string[] = [];
    const end = await holding(first, held);
    const waiting = [first, second].map((engine) =>
      engine.transaction(next, async (connection) => {
        order.push("next");
        await put(connection, `row ${order.length}`);
      }),
    );
    await isWaiting();
    assert.deepEqual(order, []);
    await end();
    await Promise.all(waiting);
    assert.equal(order.length, 2);
    assert.equal(await locks(), 0);
  });

test("a transaction that fails, is cut off or cannot commit keeps no lock", async (t) => {
  const { first, second, locks, ask } = await twoProcesses(t);
  for (const options of [one, everything]) {
    await assert.rejects(
      first.transaction(options, async () => {
        throw new Error("not today");
      }),
      /not today/,
    );
    const swallowed = async (connection: Connection) =>
      void (await put(connection, "x")
        .then(() => put(connection, "x"))
        .catch(() => {}));
    await assert.rejects(first.transaction(options, swallowed), (error) => first.isDuplicate(error));
    await assert.rejects(
      first.transaction(options, async (connection) => {
        const { pid } = (await connection.statement("select pg_backend_pid() as pid").first([])) as { pid: number };
        await ask(`select pg_terminate_backend(${pid})`);
        await put(connection, "too late");
      }),
    );
    await second.transaction(options, async () => {});
  }
  // The new connection is checked under the lock of all organizations.
  await first.transaction(one, async () => {});
  assert.equal(await locks(), 0);
  assert.deepEqual(await ask("select name from settings"), []);
});

test("messages that fail undo no commit and keep no lock", async (t) => {
  const { first, second, locks, ask } = await twoProcesses(t);
  await ask(`create function public.pg_notify(text, text) returns void language plpgsql
    as $$ begin raise exception 'canceling statement due to statement timeout' using errcode = '57014'; end $$`);
  for (const [name, options] of Object.entries<EngineScope>({ one, everything })) {
    await first.transaction(options, async (connection) => {
      // Makes the function above replace PostgreSQL's own.
      await connection.statement("set search_path = public, pg_catalog").run([]);
      await put(connection, name);
      connection.tell?.("news");
    });
    await second.transaction(options, async () => {});
  }
  assert.equal(await locks(), 0);
  assert.deepEqual(await ask("select name from settings order by name"), [{ name: "everything" }, { name: "one" }]);
});

test("a transaction whose queued write fails sends no message", async (t) => {
  const { url, ask } = await emptyDatabase(t);
  const [{ engine }, { engine: other, cluster }] = [
    await openPostgres(url, { isServer: true }),
    await openPostgres(url, { isServer: true }),
  ];
  t.after(() => Promise.all([engine.close(), other.close()]));
  const heard: string[] = [];
  const last = deferred();
  const hear = (message: string) => (message === "last" ? last.open() : void heard.push(message));
  await cluster?.listen(hear, () => {});
  const write = (message: string) => async (connection: Connection) => {
    await connection.statement(putIn).send(["a"]);
    connection.tell?.(message);
  };
  await engine.transaction(one, write("first"));
  await assert.rejects(engine.transaction(one, write("second")), (error) => engine.isDuplicate(error));
  await engine.transaction(one, async ({ tell }) => tell?.("last"));
  await last.promise;
  assert.deepEqual(heard, ["first"]);
  assert.deepEqual(await ask("select name from settings"), [{ name: "a" }]);
});

test("a body runs again where another transaction stood in its way, and finds what that one left", async (t) => {
  const { first, second, ask } = await twoProcesses(t);
  // A name that is unique over all organizations; another transaction takes it after the body's check.
  const found: number[] = [];
  const name = async (connection: Connection) => {
    const { taken } = (await connection
      .statement("select count(*) as taken from settings where name = 'web'")
      .first([])) as { taken: number };
    found.push(taken);
    if (taken > 0) return "taken";
    if (found.length === 1) await second.transaction(two, (other) => put(other, "web"));
    await put(connection, "web");
    return "made";
  };
  assert.equal(await first.transaction(one, name), "taken");
  assert.deepEqual(found, [0, 1]);
  // A transaction that conflicts again fails.
  let runs = 0;
  const always = first.transaction(one, async (connection) => {
    runs += 1;
    await put(connection, "web");
  });
  await assert.rejects(always, (error) => first.isDuplicate(error));
  assert.equal(runs, 2);
  // Two transactions in a deadlock: the server ends one of them.
  await ask("insert into settings values ('a', ''), ('b', '')");
  const change = (connection: Connection, row: string) =>
    connection.statement("update settings set value = value || 'x' where name = $1").run([row]);
  const both = [deferred(), deferred()];
  const crossing = (engine: Engine, options: EngineScope, rows: readonly string[], mine: number) =>
    engine.transaction(options, async (connection) => {
      await change(connection, rows[0] ?? "");
      both[mine]?.open();
      await both[1 - mine]?.promise;
      await change(connection, rows[1] ?? "");
    });
  await Promise.all([crossing(first, one, ["a", "b"], 0), crossing(second, two, ["b", "a"], 1)]);
  assert.deepEqual(await ask("select value from settings where name in ('a', 'b')"), [
    { value: "xx" },
    { value: "xx" },
  ]);
});

test("an organization's transactions take one connection of a process, however many wait", async (t) => {
  const { first, ask } = await twoProcesses(t);
  const end = await holding(first, one);
  const waiting = Array.from({ length: 50 }, () => first.transaction(one, async () => {}));
  // Other organizations do not wait.
  for (let i = 0; i < 10; i++) await first.transaction(two, async () => {});
  const count =
    "select count(*)::int as n from pg_stat_activity where application_name ~ '^svc-server [A-Za-z0-9]{12}$' and state = 'idle in transaction' and datname = current_database()";
  assert.deepEqual(await ask(count), [{ n: 1 }]);
  await end();
  await Promise.all(waiting);
});
