import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createConnection, createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import type { Client } from "pg";
import { createService } from "../../lib/index.ts";
import { checkServer } from "../../lib/store/postgres-migrate.ts";
import { run, temporaryFolder } from "../helpers/program.ts";
import { isLong } from "../helpers/properties.ts";
import { emptyDatabase } from "./databases.ts";
import { call, encryptionKey, severalServices } from "./several.ts";

/** What lies between a service and its database; `change` sees what the database sends. */
async function between(t: TestContext, url: string, change: (data: Buffer) => Buffer = (data) => data) {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let isSilent = false;
  const server = createServer((socket) => {
    const database = createConnection(Number(target.port), "127.0.0.1");
    for (const one of [socket, database]) {
      sockets.add(one);
      one.on("error", () => {});
    }
    socket.on("data", (data) => isSilent || database.write(data));
    database.on("data", (data) => isSilent || socket.write(change(data)));
    socket.on("close", () => database.destroy());
    database.on("close", () => socket.destroy());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: Object.assign(new URL(url), { port: String(port) }).href,
    /** From now on nothing passes, and nobody says so. */
    silence(silent: boolean) {
      isSilent = silent;
    },
  };
}

test("a database that cannot be used ends a start with 1 and a sentence, without the password", async (t) => {
  const folder = temporaryFolder(t);
  const { url, ask } = await emptyDatabase(t);
  const refused = (database: string, sentence: RegExp, key = encryptionKey) => {
    const words = ["start", "--database", database, "--port", "0"];
    const { status, stdout, stderr } = run(words, folder, { SVC_ENCRYPTION_KEY: key });
    assert.match(stderr, sentence);
    assert.doesNotMatch(stdout + stderr, /wrong-but-trusted/);
    assert.equal(status, 1);
  };
  const closed = createServer().listen(0, "127.0.0.1");
  await once(closed, "listening");
  const { port } = closed.address() as AddressInfo;
  closed.close();
  refused(
    Object.assign(new URL(url), { port: String(port) }).href,
    /no server answers there; start PostgreSQL, or correct the URL/,
  );
  refused(Object.assign(new URL(url), { pathname: "/none" }).href, /has no database of this name; make it first/);
  refused(
    Object.assign(new URL(url), { username: "nobody" }).href,
    /refuses the user or the password; correct the URL/,
  );
  // A pooler makes up the number of the backend.
  const pooler = await between(t, url, (data) => {
    const at = data.indexOf(Buffer.from([0x4b, 0, 0, 0, 12]));
    if (at >= 0) data.writeUInt32BE(4_242_424, at + 5);
    return data;
  });
  assert.deepEqual(await ask("select count(*)::int as tables from pg_tables where schemaname = 'public'"), [
    { tables: 0 },
  ]);
  const throughPooler = createService({ mode: "start", database: pooler.url, encryptionKey, logLevel: "silent" });
  await assert.rejects(throughPooler, /a connection pooler is in between; name the address of PostgreSQL itself/);
  assert.deepEqual(await ask("select count(*)::int as tables from pg_tables where schemaname = 'public'"), [
    { tables: 0 },
  ]);
});

test("a server that is too old, a replica, or of another encoding is refused by name", async () => {
  const fine = {
    ...{ number: "140000", version: "14.0", encoding: "UTF8", is_replica: false, backend: 7, schema: "public" },
  };
  const check = (more: Partial<typeof fine> | { readonly schema: null }) =>
    checkServer({ processID: 7, query: async () => ({ rows: [{ ...fine, ...more }] }) } as unknown as Client);
  await check({});
  await assert.rejects(
    check({ number: "130011", version: "13.11" }),
    /PostgreSQL 13\.11; 14 or a later version is needed/,
  );
  await assert.rejects(check({ is_replica: true }), /is a read-only replica; name its primary/);
  await assert.rejects(check({ encoding: "SQL_ASCII" }), /its encoding is SQL_ASCII/);
  await assert.rejects(check({ schema: null }), /names no schema; make one/);
});

const skip = !isLong && "TEST_LONG=1";

test("a network that swallows everything is 503, loses nothing, and is left behind once it is back", {
  skip,
}, async (t) => {
  const { url, key, start } = await severalServices(t, 1);
  const network = await between(t, url);
  const service = await createService({ mode: "start", database: network.url, encryptionKey, logLevel: "silent" });
  t.after(() => service.close());
  const make = (name: string) => call(service, key, "POST", "/v1/projects", { name, region: "eu-west-1" });
  assert.equal((await make("before")).status, 201);
  network.silence(true);
  const swallowed = await make("swallowed");
  assert.deepEqual([swallowed.status, swallowed.body.error.code], [503, "unavailable"]);
  // The other processes go on meanwhile: the lock of a half-open connection ends.
  const other = await start();
  assert.equal((await call(other, key, "POST", "/v1/projects", { name: "other", region: "eu-west-1" })).status, 201);
  network.silence(false);
  for (let status = 0; status !== 201; ) ({ status } = await make(`after ${status}`));
});
