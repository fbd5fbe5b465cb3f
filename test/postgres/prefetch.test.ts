import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Client } from "pg";
import type { Connection } from "../../lib/store/engine.ts";
import { openPostgres } from "../../lib/store/postgres/open.ts";
import { deferred, names } from "../helpers/temporary-store.ts";
import { firstOf } from "../helpers/until.ts";
import { emptyDatabase } from "./databases.ts";
import { between } from "./network.ts";
import { call, severalServices } from "./several.ts";

const own = { organization_id: "org_1" };
const put = (connection: Connection, name: string) =>
  connection.statement("insert into settings (name, value) values ($1, '')").run([name]);

test("what a transaction reads ahead is sent with its locks, and the work reads it without a wait", async (t) => {
  const { url } = await emptyDatabase(t);
  const network = await between(t, url);
  const { engine } = await openPostgres(network.url, { isServer: true });
  t.after(() => engine.close());
  const text = "select project_id from removals order by project_id";
  const read = (connection: Connection) => connection.statement(text, { isShared: true }).all([]);
  const times: number[] = [];
  for (let i = 0; i < 5; i++) {
    const before = network.waits();
    assert.deepEqual(await engine.transaction(own, read, read), []);
    times.push(network.waits() - before);
  }
  // The engine reads the time of the database too.
  assert.equal(Math.min(...times), 2, times.join());
});

test("a read ahead that fails fails its transaction, and others of the group go on", async (t) => {
  const { url } = await emptyDatabase(t);
  const { engine } = await openPostgres(url, { isServer: true });
  t.after(() => engine.close());
  const [begun, mayEnd] = [deferred(), deferred()];
  const first = engine.transaction(own, async () => {
    begun.open();
    await mayEnd.promise;
  });
  await begun.promise;
  const failing = (connection: Connection) =>
    connection
      .statement("select 1 / 0")
      .first([])
      .catch(() => {});
  const ends = [
    engine.transaction(own, (connection) => put(connection, "a")),
    engine.transaction(own, (connection) => put(connection, "b"), failing),
    engine.transaction(own, (connection) => put(connection, "c")),
  ];
  mayEnd.open();
  await first;
  const statuses = (await Promise.allSettled(ends)).map(({ status }) => status);
  assert.deepEqual(statuses, ["fulfilled", "rejected", "fulfilled"]);
  assert.deepEqual(await names(engine.connection), ["a", "c"]);
});

/** Holds the lock of the only organization, so that its transactions gather behind the first. */
async function held(url: string, ask: (sql: string) => Promise<Record<string, string>[]>) {
  const [organization] = await ask("select id from organizations");
  const holder = new Client({ connectionString: url });
  await holder.connect();
  await holder.query("select pg_advisory_lock(hashtextextended($1, 0))", [organization?.id]);
  return {
    /** Resolves once a transaction waits for the lock. */
    hasWaiter: () =>
      firstOf(async () => {
        const { rows } = await holder.query(
          "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
        );
        return rows[0];
      }),
    free: () => holder.end(),
  };
}

test("a user who is suspended in a group makes no later change in it", async (t) => {
  const [owner, leaver] = ["sk_live_demo_owner", "sk_live_demo_leaver"];
  const user = (name: string, role: "owner" | "admin", key: string) => {
    return { name, email: `${name}@acme.test`, role, keys: [{ name: "test", key }] };
  };
  const users = [user("ada", "owner", owner), user("bob", "admin", leaver)];
  const seed = { organizations: [{ name: "Acme", users }] };
  const { url, start, ask } = await severalServices(t, 1, { seed });
  const service = await start();
  const [bob] = await ask("select id from users where name = 'bob'");
  const lock = await held(url, ask);
  /** Sends a request, and resolves once its transaction is queued: the GET shares the read of its key. */
  const send = async (by: string, path: string, body: object = {}) => {
    const answer = call(service, by, "POST", path, body);
    assert.equal((await call(service, by, "GET", "/v1/me")).status, 200);
    return { answer };
  };
  // The first one waits for the lock; the others gather behind it.
  const first = await send(owner, "/v1/projects", { name: "first", region: "eu-west-1" });
  await lock.hasWaiter();
  const suspended = await send(owner, `/v1/users/${bob.id}/suspend`);
  const late = await send(leaver, "/v1/projects", { name: "late", region: "eu-west-1" });
  await lock.free();
  assert.equal((await first.answer).status, 201);
  assert.equal((await suspended.answer).status, 200);
  assert.equal((await late.answer).status, 401);
});

/** A service whose deployments wait for a day. */
async function queueing(t: TestContext) {
  const { url, ask, start, key } = await severalServices(t, 1);
  const network = await between(t, url);
  const day_ms = 86_400_000;
  const driver = { delay: () => day_ms, step: () => Promise.reject(new Error("nothing is due")) };
  // A window of few requests would be counted in the database.
  const service = await start({ database: network.url, deployments: { driver }, rateLimit: 1_000_000 });
  const project_id = (await call(service, key, "POST", "/v1/projects", { name: "web", region: "eu-west-1" })).body.id;
  const source = { type: "git", repo: "acme/web", branch: "main" };
  const body = { project_id, environment: "production", source };
  const post = () => call(service, key, "POST", "/v1/deployments", body);
  return { url, ask, network, post, me: () => call(service, key, "GET", "/v1/me") };
}

test("a POST of a deployment waits for the database three times: for its key, for its reads, for its writes", async (t) => {
  const { network, post } = await queueing(t);
  // The service has other work too, so some POSTs count more.
  const waits: number[] = [];
  for (let i = 0; i < 20; i++) {
    const before = network.waits();
    assert.equal((await post()).status, 201);
    waits.push(network.waits() - before);
  }
  assert.equal(Math.min(...waits), 3, waits.join());
});

test("deployments that are created together are stored with one statement for each table", async (t) => {
  const { url, ask, network, post, me } = await queueing(t);
  await post();
  const before = network.sent().length;
  const lock = await held(url, ask);
  const first = post();
  await lock.hasWaiter();
  const others = Array.from({ length: 8 }, post);
  // It shares the read of the key: once it is answered, the others are queued.
  assert.equal((await me()).status, 200);
  await lock.free();
  const answers = await Promise.all([first, ...others]);
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]));
  const sent = network.sent().slice(before);
  // The first of the nine goes alone, and the other eight together.
  for (const table of ["deployments", "deployment_logs", "events"])
    assert.match(sent, new RegExp(`insert into "${table}" [^;]*?values (?:\\([^)]*\\), ){7}\\([^)]*\\)\0`), table);
});
