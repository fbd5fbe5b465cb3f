import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { Client } from "pg";
import { createService, type Options, type Service } from "../../lib/index.ts";
import { connectionConfig, type Driver } from "../../lib/store/postgres/driver.ts";
import { createPool } from "../../lib/store/postgres/pool.ts";
import { deferred } from "../helpers/temporary-store.ts";
import { firstOf } from "../helpers/until.ts";
import { emptyDatabase } from "./databases.ts";
import { between } from "./network.ts";
import { call, encryptionKey, openSocket, severalServices } from "./several.ts";

/** A service whose log reports when writes stop and resume. */
async function watched(t: TestContext, database: string, more: Options = {}) {
  const lines: string[] = [];
  let hear = () => {};
  const take = (line: string) => {
    lines.push(line);
    hear();
  };
  const note = (message: string, fields?: object) => take(`${message} ${JSON.stringify(fields)}`);
  const logger = { error: note, warn: note, info() {}, debug() {} };
  const service = await createService({ mode: "start", database, encryptionKey, logger, ...more });
  t.after(() => service.close());
  return {
    service,
    /** Resolves with the first matching line of the log, and drops all lines up to it. */
    async says(pattern: RegExp): Promise<string> {
      for (;;) {
        const found = lines.findIndex((line) => pattern.test(line));
        if (found >= 0) return lines.splice(0, found + 1).at(-1) ?? "";
        await new Promise<void>((resolve) => {
          hear = resolve;
        });
      }
    },
  };
}

/** The name of a database, and a connection that survives when that database is dropped. */
async function rootBeside(t: TestContext, url: string) {
  const root = new Client({ connectionString: Object.assign(new URL(url), { pathname: "/postgres" }).href });
  await root.connect();
  t.after(() => root.end());
  return { root, name: new URL(url).pathname.slice(1) };
}

const make = (service: Service<string | null>, key: string, name: string) =>
  call(service, key, "POST", "/v1/projects", { name, region: "eu-west-1" });

const unavailable = ({ status, body }: Awaited<ReturnType<typeof call>>) => {
  assert.deepEqual([status, body.error.code], [503, "unavailable"]);
  return body.error.message as string;
};

test("a database that becomes read-only, takes no more connections, or goes, is 503 with the reason, until it is back", async (t) => {
  const { url, key, ask } = await severalServices(t, 1, { rateLimit: 0 });
  const { root, name } = await rootBeside(t, url);
  const role = `${name}_user`;
  await root.query(`create role ${role} login`);
  await ask(`grant all on schema public to ${role}; grant all on all tables in schema public to ${role}`);
  const { service, says } = await watched(t, Object.assign(new URL(url), { username: role }).href, { rateLimit: 0 });
  // Waits for their end, or a request could still use one of them.
  const lose = () =>
    root.query("select pg_terminate_backend(pid, 10000) from pg_stat_activity where usename = $1", [role]);
  assert.equal((await make(service, key, "before")).status, 201);

  await root.query(`alter database ${name} set default_transaction_read_only = on`);
  await lose();
  assert.match(
    await says(/cannot be written/),
    /the database is read-only; make it writable.*default_transaction_read/,
  );
  assert.match(unavailable(await make(service, key, "read-only")), /the database is read-only; ask the operator/);
  const ready = await service.fetch("/readyz");
  assert.deepEqual(await ready.json(), { status: "degraded", reason: "the database is read-only" });
  assert.equal((await call(service, key, "GET", "/v1/projects")).status, 200, "it can be read");
  await root.query(`alter database ${name} reset all`);
  await says(/can be written again/);
  assert.equal((await make(service, key, "read-only")).status, 201);

  await root.query(`alter role ${role} connection limit 0`);
  await lose();
  assert.match(await says(/cannot be written/), /too many connections for role/);
  unavailable(await make(service, key, "full"));
  assert.equal((await service.fetch("/readyz")).status, 503);
  await root.query(`alter role ${role} connection limit -1`);
  await says(/can be written again/);
  assert.equal((await make(service, key, "full")).status, 201);

  await root.query(`drop database ${name} with (force)`);
  assert.match(await says(/cannot be written/), /the database cannot be reached/);
  unavailable(await make(service, key, "gone"));
  await root.query(`drop role ${role}`);
});

test("reads are answered while an administrator ends all connections", async (t) => {
  const { url, key, services } = await severalServices(t, 1, { rateLimit: 0 });
  const { root, name } = await rootBeside(t, url);
  const service = services[0] as Service<string | null>;
  const { id } = (await make(service, key, "kept")).body;
  const statuses = new Set<number>();
  for (let round = 0; round < 20; round += 1) {
    const reads = Array.from({ length: 8 }, () => call(service, key, "GET", `/v1/projects/${id}`));
    await root.query("select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = $1", [name]);
    for (const { status } of await Promise.all(reads)) statuses.add(status);
  }
  assert.deepEqual([...statuses], [200]);
});

test("reads are answered while an administrator ends connections as they open", async (t) => {
  const { url, key, ask, start } = await severalServices(t, 1, { rateLimit: 0 });
  const { root, name } = await rootBeside(t, url);
  let toEnd = 0;
  const ended: Promise<unknown>[] = [];
  const held = new Map<Socket, Buffer>();
  // The reason of the end arrives in one piece with the readiness: its message is Z, a length and I.
  const network = await between(t, url, (data, connection) => {
    const begun = held.get(connection);
    held.delete(connection);
    if (begun) return Buffer.concat([begun, data]);
    if (toEnd === 0 || !data.includes("server_version") || data.at(-6) !== 0x5a) return data;
    toEnd -= 1;
    held.set(connection, data);
    const backend = data.readInt32BE(data.indexOf("K\0\0\0\x0c", 0, "latin1") + 5);
    ended.push(ask(`select pg_terminate_backend(${backend})`));
    return Buffer.alloc(0);
  });
  const service = await start({ database: network.url });
  const { id } = (await make(service, key, "kept")).body;
  const readWhileEnding = async (which: string) => {
    toEnd = 3;
    await root.query(
      `select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = $1 and query like '${which}'`,
      [name],
    );
    const reads = Array.from({ length: 8 }, () => call(service, key, "GET", `/v1/projects/${id}`));
    assert.deepEqual([...new Set((await Promise.all(reads)).map(({ status }) => status))], [200]);
    assert.equal(toEnd, 0, "all of them ended");
  };
  // All: those for writing and for messages open again at once. Then only those of reads, which do not.
  await readWhileEnding("%");
  await readWhileEnding("select%from%");
  await Promise.all(ended);
});

test("a statement that is sent again takes another connection, although the end of the first is not known yet", async () => {
  const ended = Object.assign(new Error("terminating connection due to administrator command"), { code: "57P01" });
  let opened = 0;
  class Ending extends EventEmitter {
    readonly number = ++opened;
    connect = async () => this;
    end = async () => {};
    query = async () => (this.number === 1 ? Promise.reject(ended) : this.number);
  }
  const driver = { Client: Ending } as unknown as Driver;
  const pool = createPool(driver, connectionConfig("postgres://none/none", "test", "reads"), 1);
  await assert.rejects(pool.query({ text: "select 1" }), ended);
  assert.equal(await pool.query({ text: "select 1" }), 2);
});

test("a network that swallows everything is 503 in bounded time, loses nothing, and is left behind once it is back", {
  timeout: 180_000,
}, async (t) => {
  const { url, key, start } = await severalServices(t, 1);
  const network = await between(t, url);
  const { service, says } = await watched(t, network.url);
  assert.equal((await make(service, key, "before")).status, 201);
  const stream = await openSocket(t, service, key);
  network.silence(true);
  const asked = performance.now();
  const requests = [
    make(service, key, "swallowed"),
    ...Array.from({ length: 20 }, () => call(service, key, "GET", "/v1/projects")),
  ];
  // Other processes continue meanwhile: the database drops the lock of a half-open connection.
  const other = await start();
  assert.equal((await make(other, key, "other")).status, 201);
  for (const answer of await Promise.all(requests)) unavailable(answer);
  assert.ok(performance.now() - asked < 45_000, "each statement has 30 s");
  await says(/cannot be written: the database cannot be reached/);
  const known = performance.now();
  unavailable(await call(service, key, "GET", "/v1/projects"));
  assert.ok(performance.now() - known < 10_000, "once the service knows, it says so at once");
  await stream.closed;
  network.silence(false);
  await says(/can be written again/);
  await firstOf(async () => ((await make(service, key, "after")).status === 201 ? true : undefined));
  const names = (await call(other, key, "GET", "/v1/projects?per_page=100")).body.data.map(
    ({ name }: { name: string }) => name,
  );
  assert.ok(["before", "other"].every((name) => names.includes(name)) && !names.includes("swallowed"));
});

test("answers that come while the database takes no writes are recorded once it does, and nothing is sent again", {
  timeout: 60_000,
}, async (t) => {
  const { url, ask } = await emptyDatabase(t);
  const { service, says } = await watched(t, url, { mode: "dev" });
  const key = service.apiKey ?? "";
  const deliveries = 10;
  const tries: string[] = [];
  const [haveCome, mayAnswer] = [deferred(), deferred()];
  service.webhooks.sink("hook", async ({ headers }) => {
    tries.push(headers.get("x-service-delivery") ?? "");
    if (tries.length === deliveries) haveCome.open();
    await mayAnswer.promise;
    return new Response();
  });
  const hook = { url: "https://hook.inbox.test/in", events: ["project.created"] };
  assert.equal((await call(service, key, "POST", "/v1/webhooks", hook)).status, 201);
  for (let i = 0; i < deliveries; i++) assert.equal((await make(service, key, `project ${i}`)).status, 201);
  await haveCome.promise;
  const { root, name } = await rootBeside(t, url);
  await root.query(`alter database ${name} set default_transaction_read_only = on`);
  await root.query("select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", [name]);
  await says(/cannot be written/);
  mayAnswer.open();
  await root.query(`alter database ${name} reset all`);
  await says(/can be written again/);
  await service.settle();
  assert.deepEqual([tries.length, new Set(tries).size], [deliveries, deliveries]);
  const rows = await ask("select status, tries, count(*)::int as n from deliveries group by status, tries");
  assert.deepEqual(rows, [{ status: "succeeded", tries: 1, n: deliveries }]);
});
