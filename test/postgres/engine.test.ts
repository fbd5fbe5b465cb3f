import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createService, type Options } from "../../lib/index.ts";
import type { Problem } from "../../lib/kernel/errors.ts";
import type { Connection } from "../../lib/store/engine.ts";
import { openPostgres } from "../../lib/store/postgres/open.ts";
import { proxyTo } from "../helpers/engines.ts";
import { deferred, names } from "../helpers/temporary-store.ts";
import { emptyDatabase } from "./databases.ts";
import { startServer } from "./server.ts";

const encryptionKey = Buffer.alloc(32, 7).toString("base64");

/** A store on an empty database. */
async function openEmpty(t: TestContext) {
  const { url, ask } = await emptyDatabase(t);
  const opened = await openPostgres(url, { isServer: true });
  t.after(() => opened.engine.close());
  return { ...opened, url, ask };
}

const putIn = "insert into settings (name, value) values ($1, $2)";
const write = (name: string) => (connection: Connection) => connection.statement(putIn).run([name, ""]);

test("a statement that failed fails its transaction, even if the work goes on", async (t) => {
  const { engine } = await openEmpty(t);
  await engine.transaction("all", write("a"));
  const swallowed = engine.transaction("all", async (connection) => {
    await write("b")(connection);
    await write("a")(connection).catch((error) => assert.ok(engine.isDuplicate(error)));
  });
  await assert.rejects(swallowed, (error) => engine.isDuplicate(error));
  assert.deepEqual(await names(engine.connection), ["a"]);
});

test("U+0000, which PostgreSQL does not store, becomes U+FFFD", async (t) => {
  const { engine } = await openEmpty(t);
  await engine.transaction("all", write("x\0y"));
  assert.deepEqual(await names(engine.connection), ["x\ufffdy"]);
});

test("a lost connection is opened again, and nothing but its transaction fails", async (t) => {
  const { engine, ask } = await openEmpty(t);
  const cut = "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'svc-server%'";
  const interrupted = engine.transaction("all", async (connection) => {
    await write("lost")(connection);
    await ask(`${cut} and datname = current_database()`);
    await write("too late")(connection);
  });
  await assert.rejects(interrupted, (error) => (error as Problem).status === 503);
  await engine.transaction("all", write("kept"));
  assert.deepEqual(await names(engine.connection), ["kept"]);
  // Lost idle connections do no harm either.
  await ask(`${cut} and datname = current_database()`);
  await engine.transaction("all", write("later"));
  assert.deepEqual(await names(engine.connection), ["kept", "later"]);
});

test("a database of another program, of a newer version or with other migrations is refused as it is", async (t) => {
  const { url, ask } = await emptyDatabase(t);
  const isRefused = (words: RegExp, isServer = true) => assert.rejects(openPostgres(url, { isServer }), words);
  await isRefused(/it has no tables; start a server on it first/, false);
  await ask("create table migrations (id int, title text)");
  await isRefused(/it belongs to another program/);
  await ask("drop table migrations");
  const opened = await openPostgres(url, { isServer: true });
  assert.equal(opened.created, true);
  await opened.engine.close();
  await ask("drop index events_listed");
  await isRefused(/its table or index events_listed is missing/);
  await ask("create index events_listed on events (organization_id, id)");
  await ask("update migrations set checksum = 'x' where version = 1");
  await isRefused(/its migration 0001_service.sql differs/);
  await ask("insert into migrations select 1000 + version, name, checksum from migrations");
  await isRefused(/it was written by a newer svc-server/);
});

test("while the database is away the service answers 503, and goes on once it is back", async (t) => {
  const server = await startServer();
  t.after(() => server.end());
  const lines: string[] = [];
  const again = deferred();
  const log = (level: string) => (message: string) => {
    lines.push(`${level} ${message}`);
    if (/can be written again/.test(message)) again.open();
  };
  const logger = { error: log("error"), warn: log("warn"), info() {}, debug() {} };
  const options: Options = { mode: "start", database: server.url("postgres"), encryptionKey, logger };
  const service = await createService(options);
  t.after(() => service.close());
  const get = () => service.fetch("/v1/projects", { headers: { authorization: `Bearer ${service.apiKey}` } });
  const post = (name: string) =>
    service.fetch("/v1/projects", {
      method: "POST",
      headers: { authorization: `Bearer ${service.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ name, region: "eu-west-1" }),
    });
  assert.equal((await post("before")).status, 201);
  server.stop();
  for (const ask of [get, () => post("lost"), get, () => post("lost")]) {
    const answer = await ask();
    assert.equal(answer.status, 503);
    assert.match(answer.headers.get("retry-after") ?? "", /^\d+$/);
    assert.match(await answer.text(), /"code":"unavailable"/);
  }
  assert.equal((await service.fetch("/readyz")).status, 503);
  server.start();
  await again.promise;
  assert.equal((await post("after")).status, 201);
  const { data } = (await (await get()).json()) as { data: { name: string }[] };
  assert.deepEqual(data.map(({ name }) => name).sort(), ["after", "before"]);
  assert.deepEqual(
    lines.filter((line) => /the store/.test(line)),
    [
      "error the store cannot be written: the database cannot be reached; start its server",
      "warn the store can be written again",
    ],
  );
});

test("a network between that goes away is a lost database", async (t) => {
  const { url } = await emptyDatabase(t);
  const proxy = await proxyTo(t, Number(new URL(url).port));
  const through = Object.assign(new URL(url), { port: String(proxy.port) }).href;
  const { engine } = await openPostgres(through, { isServer: true });
  await engine.transaction("all", write("a"));
  await proxy.close();
  await assert.rejects(engine.transaction("all", write("b")), (error) => (error as Problem).status === 503);
  await assert.rejects(engine.connection.statement("select 1").all([]), (error) => (error as Problem).status === 503);
  await engine.close();
});
