import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { type TestContext, test } from "node:test";
import { Client } from "pg";
import { createService, type Service } from "../../lib/index.ts";
import { checkServer } from "../../lib/store/postgres/migrate.ts";
import { run, temporaryFolder } from "../helpers/program.ts";
import { emptyDatabase } from "./databases.ts";
import { between } from "./network.ts";
import { startPooler, withoutPooler } from "./pooler.ts";
import { startServer } from "./server.ts";
import { call, encryptionKey, severalServices } from "./several.ts";

type Refusal = (database: string, sentence: RegExp, code?: number) => void;

/** Starts that fail with one sentence, which must not contain the password. */
const refusals = (t: TestContext): Refusal => {
  const folder = temporaryFolder(t);
  return (database, sentence, code = 1) => {
    const words = ["start", "--database", database, "--port", "0"];
    const { status, stdout, stderr } = run(words, folder, { SVC_ENCRYPTION_KEY: encryptionKey });
    assert.match(stderr, sentence);
    assert.doesNotMatch(stdout + stderr, /wrong-but-trusted/);
    assert.equal(status, code);
  };
};

const at = (url: string, more: Partial<URL>) => Object.assign(new URL(url), more).href;
const tables = "select count(*)::int as tables from pg_tables where schemaname = 'public'";

test("a database that cannot be used ends a start with 1 and a sentence, without the password", async (t) => {
  const refused = refusals(t);
  const { url, ask } = await emptyDatabase(t);
  const closed = createServer().listen(0, "127.0.0.1");
  await once(closed, "listening");
  const { port } = closed.address() as AddressInfo;
  closed.close();
  refused(at(url, { port: String(port) }), /no server answers there; start PostgreSQL, or correct the URL/);
  refused(at(url, { hostname: "none.invalid" }), /no host of this name is known here; correct the URL/);
  refused(at(url, { pathname: "/none" }), /has no database of this name; make it first/);
  refused(at(url, { username: "nobody" }), /refuses the user or the password; correct the URL, or set PGPASSWORD/);
  refused(`${url}?sslrootcert=/none.pem`, /a file that its URL names cannot be read \(.*\/none\.pem/);
  refused(`${url}?sslmode=verify-full`, /does not support SSL connections; set sslmode in the URL/);
  refused(
    url.replace("wrong-", "wrong/"),
    /option --database must be a URL such as .*; write \/ of a password as %2F/,
    2,
  );
  refused(url.replace("postgres:", "mysql:"), /option --database must be .*a URL that begins with postgres:/, 2);
  await ask(`alter database ${new URL(url).pathname.slice(1)} set default_transaction_read_only = on`);
  refused(url, /it is read-only; set default_transaction_read_only to off/);
  await ask(`set transaction_read_only = off; alter database ${new URL(url).pathname.slice(1)} reset all`);
  assert.deepEqual(await ask(tables), [{ tables: 0 }]);
});

test("a user that the server does not let in or who has no rights, and a replica, end a start with a sentence", async (t) => {
  const refused = refusals(t);
  const server = await startServer({ wal_level: "replica", max_wal_senders: "2" }, [
    "host all alice,eve,full all scram-sha-256",
    "host all stranger all reject",
  ]);
  t.after(() => server.end());
  const url = server.url("postgres");
  const client = new Client({ connectionString: url });
  await client.connect();
  for (const name of ["alice", "eve", "full", "stranger"])
    await client.query(`create role ${name} login password 'correct-and-wrong-but-trusted'`);
  await client.query("create database hers owner alice");
  await client.query("alter role full connection limit 0");
  const as = (username: string, password = "correct-and-wrong-but-trusted") =>
    at(url, { username, password, pathname: "/hers" });
  refused(as("alice", "wrong-but-trusted"), /refuses the user or the password; correct the URL, or set PGPASSWORD/);
  refused(as("alice", ""), /refuses the user or the password; correct the URL, or set PGPASSWORD/);
  refused(
    as("stranger"),
    /refuses this kind of connection \(pg_hba.conf rejects .*\); change its pg_hba.conf, or the URL/,
  );
  refused(as("eve"), /may not make or use the tables there \(permission denied for schema public\); give that right/);
  refused(as("full"), /accepts no more connections, .*\(too many connections for role "full"\); raise the limit/);
  const port = String(await server.replica());
  refused(at(url, { port }), /its server is a read-only replica; name its primary/);
  // The right password works: this is the first successful start.
  const service = await createService({ mode: "start", database: as("alice"), encryptionKey, logLevel: "silent" });
  await service.close();
  refused(as("eve"), /may not make or use the tables there \(permission denied for table \w+\); give that right/);
  await client.end();
});

test("a server that is too old is refused by name", async (t) => {
  const { url, ask } = await emptyDatabase(t);
  // No package offers so old a version, so the proxy rewrites the version that the server reports.
  const old = await between(t, url, (data) => {
    const text = data
      .toString("latin1")
      .replace(/\b1[4-9](00\d\d)\b/, "13$1")
      .replace(/\b1[4-9](\.\d)/, "13$1");
    return Buffer.from(text, "latin1");
  });
  const start = createService({ mode: "start", database: old.url, encryptionKey, logLevel: "silent" });
  await assert.rejects(start, /its server is PostgreSQL 13\.\d.*; 14 or a later version is needed/);
  assert.deepEqual(await ask(tables), [{ tables: 0 }]);
});

test("a server of another encoding, or a user without a schema, is refused", async () => {
  const fine = { number: "140000", version: "14.0", encoding: "UTF8", is_replica: false, schema: "public" };
  const check = (more: Partial<typeof fine> | { readonly schema: null }) =>
    checkServer({ query: async () => ({ rows: [{ ...fine, ...more }] }) } as unknown as Client);
  await check({});
  await assert.rejects(check({ encoding: "SQL_ASCII" }), /its encoding is SQL_ASCII/);
  await assert.rejects(check({ schema: null }), /names no schema; make one/);
});

test("PgBouncer in transaction mode ends a start with a sentence, and leaves no settings behind", {
  skip: withoutPooler,
}, async (t) => {
  const { url, ask } = await emptyDatabase(t);
  const pooled = await startPooler(t, url, "transaction");
  refusals(t)(pooled, /a connection pooler in transaction mode is in between; name the address of PostgreSQL itself/);
  const client = new Client({ connectionString: pooled });
  await client.connect();
  const { rows } = await client.query("show statement_timeout");
  assert.deepEqual(rows, [{ statement_timeout: "0" }], "of the connection that others get");
  await client.end();
  assert.deepEqual(await ask(tables), [{ tables: 0 }]);
});

const project = (name: string) => ({ name, region: "eu-west-1" });
const make = (service: Service<string | null>, key: string, name: string) =>
  call(service, key, "POST", "/v1/projects", project(name));

test("PgBouncer in session mode is like PostgreSQL itself", { skip: withoutPooler }, async (t) => {
  const { url, key, services } = await severalServices(t, 1);
  const [direct] = services as [Service];
  const database = await startPooler(t, url, "session");
  const pooled = await createService({ mode: "start", database, encryptionKey, logLevel: "silent" });
  t.after(() => pooled.close());
  const { id: project_id } = (await make(pooled, key, "web")).body;
  const source = { type: "git", repo: "acme/web", branch: "main" };
  const order = { project_id, environment: "production", source };
  const { id } = (await call(pooled, key, "POST", "/v1/deployments", order)).body;
  const waiting = call(pooled, key, "GET", `/v1/deployments/${id}?wait=60`);
  assert.equal((await call(direct, key, "POST", `/v1/deployments/${id}/cancel`)).status, 200);
  assert.equal((await waiting).body.status, "cancelled");
});
