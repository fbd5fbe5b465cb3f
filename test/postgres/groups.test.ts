import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Problem } from "../../lib/kernel/errors.ts";
import type { Connection, Engine } from "../../lib/store/engine.ts";
import { openPostgres } from "../../lib/store/postgres/open.ts";
import { deferred, names } from "../helpers/temporary-store.ts";
import { emptyDatabase } from "./databases.ts";

const own = { organization_id: "org_1" };
const putIn = "insert into settings (name, value) values ($1, '')";
const put = (connection: Connection, name: string) => connection.statement(putIn).run([name]);
/** The number of the current PostgreSQL transaction. */
const numberOf = async (connection: Connection) =>
  ((await connection.statement("select txid_current()::text as number").first([])) as { number: string }).number;

async function openEmpty(t: TestContext) {
  const { url, ask } = await emptyDatabase(t);
  const open = async () => {
    const { engine } = await openPostgres(url, { isServer: true });
    t.after(() => engine.close());
    return engine;
  };
  return { engine: await open(), open, ask };
}

type Works = readonly ((connection: Connection) => Promise<unknown>)[];

/** Queues works behind a running transaction of the same organization. */
async function queue(engine: Engine, works: Works) {
  const [begun, mayEnd] = [deferred(), deferred()];
  const first = engine.transaction(own, async () => {
    begun.open();
    await mayEnd.promise;
  });
  await begun.promise;
  const ends = works.map((work) => engine.transaction(own, work));
  mayEnd.open();
  await first;
  return ends;
}
const together = async (engine: Engine, works: Works) => Promise.allSettled(await queue(engine, works));

const reasonOf = (end: PromiseSettledResult<unknown> | undefined) =>
  end?.status === "rejected" ? (end.reason as Error).message : end?.status;

test("transactions that wait for their organization go together, in their order", async (t) => {
  const { engine } = await openEmpty(t);
  const seen: string[][] = [];
  const work = (name: string) => async (connection: Connection) => {
    await put(connection, name);
    seen.push(await names(connection));
    return numberOf(connection);
  };
  const ends = await together(engine, ["a", "b", "c"].map(work));
  const numbers = ends.map((end) => end.status === "fulfilled" && end.value);
  assert.deepEqual(numbers, [numbers[0], numbers[0], numbers[0]]);
  assert.deepEqual(seen, [["a"], ["a", "b"], ["a", "b", "c"]]);
});

test("a member that fails before it writes leaves its group as it is", async (t) => {
  const { engine } = await openEmpty(t);
  let runs = 0;
  const ends = await together(engine, [
    (connection) => put(connection, "a"),
    async (connection) => {
      runs += 1;
      connection.tell?.("nobody hears it");
      throw new Error(`not today: ${await names(connection)}`);
    },
    (connection) => put(connection, "b"),
  ]);
  assert.deepEqual(ends.map(reasonOf), ["fulfilled", "not today: a", "fulfilled"]);
  assert.equal(runs, 1);
  assert.deepEqual(await names(engine.connection), ["a", "b"]);
});

for (const [what, fail] of [
  [
    "fails after it wrote",
    async (connection: Connection) => {
      await connection.statement(putIn).send(["undone"]);
      throw new Error("not today");
    },
  ],
  [
    "writes what a constraint refuses, and goes on",
    async (connection: Connection) => {
      await put(connection, "undone");
      await put(connection, "undone").catch(() => {});
    },
  ],
] as const)
  test(`a member that ${what} fails alone`, async (t) => {
    const { engine } = await openEmpty(t);
    const ends = await together(engine, [
      (connection) => put(connection, "a"),
      fail,
      (connection) => put(connection, "b"),
    ]);
    assert.deepEqual(
      ends.map(({ status }) => status),
      ["fulfilled", "rejected", "fulfilled"],
    );
    assert.deepEqual(await names(engine.connection), ["a", "b"]);
  });

test("a group whose connection is lost fails whole, and nothing of it runs again", async (t) => {
  const { engine, ask } = await openEmpty(t);
  let runs = 0;
  const work = (name: string) => async (connection: Connection) => {
    runs += 1;
    await put(connection, name);
    if (name !== "b") return;
    await ask(
      "select pg_terminate_backend(pid) from pg_stat_activity where state like 'idle in%' and datname = current_database()",
    );
    await put(connection, "too late");
  };
  const ends = await together(engine, ["a", "b", "c"].map(work));
  for (const end of ends) assert.equal((end as { reason?: Problem }).reason?.status, 503);
  assert.equal(runs, 2);
  assert.deepEqual(await names(engine.connection), []);
  await engine.transaction(own, (connection) => put(connection, "later"));
});

test("a transaction of all organizations comes between those before it and those after it", async (t) => {
  const { engine } = await openEmpty(t);
  const order: string[] = [];
  const note = (name: string) => async () => void order.push(name);
  await Promise.all([
    engine.transaction(own, note("1")),
    engine.transaction(own, note("2")),
    engine.transaction("all", note("all")),
    engine.transaction(own, note("3")),
  ]);
  assert.deepEqual(order, ["1", "2", "all", "3"]);
});

test("a group waits for no limit with rows that it has locked", async (t) => {
  const { engine, open } = await openEmpty(t);
  const [isHeld, mayEnd] = [deferred(), deferred()];
  const holder = (await open()).transaction({ organization_id: "org_2" }, async (connection) => {
    await connection.lockLimit?.("deployments");
    isHeld.open();
    await mayEnd.promise;
    // The row that the other transaction would have locked.
    await put(connection, "a").catch(() => {});
  });
  await isHeld.promise;
  const [first, second] = await queue(engine, [
    async (connection) => {
      await put(connection, "a");
      connection.tell?.("a");
    },
    async (connection) => {
      await connection.lockLimit?.("deployments");
      await put(connection, "b");
    },
  ]);
  await first;
  assert.deepEqual(await names(engine.connection), ["a"]);
  mayEnd.open();
  await holder.catch(() => {});
  await second;
  assert.deepEqual(await names(engine.connection), ["a", "b"]);
});

test("a member reads what earlier ones of its group have written, and what a failed one wrote is gone", async (t) => {
  const { engine, ask } = await openEmpty(t);
  await ask("insert into organizations values ('org_1', 'A', 'a', 'pro', '')");
  await ask(
    "insert into projects select id, 'org_1', id, id, '', null, 'active', '', '' from unnest('{a,b,c}'::text[]) as id",
  );
  const text = "select project_id as name from removals order by project_id";
  const removed = async (connection: Connection) =>
    ((await connection.statement(text, { isShared: true }).all([])) as { name: string }[])
      .map(({ name }) => name)
      .join();
  const remove = (id: string) => (connection: Connection) =>
    connection.statement("insert into removals (project_id) values ($1)", { changesShared: true }).send([id]);
  const values = (ends: readonly PromiseSettledResult<unknown>[]) =>
    ends.map((end) => (end.status === "fulfilled" ? end.value : "failed"));
  const ends = await together(engine, [removed, removed, remove("b"), removed, remove("a"), removed]);
  assert.deepEqual(values(ends), ["", "", undefined, "b", undefined, "a,b"]);
  const failing = async (connection: Connection) => {
    await remove("c")(connection);
    assert.equal(await removed(connection), "a,b,c");
    throw new Error("not today");
  };
  assert.deepEqual(values(await together(engine, [removed, failing, removed])), ["a,b", "failed", "a,b"]);
});
