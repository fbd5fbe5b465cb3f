import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { test } from "node:test";
import { inspect } from "node:util";
import { BadOptions, createService, DatabaseError, type Options } from "../../lib/index.ts";
import { describeDatabase, isPostgres, withoutPassword } from "../../lib/store/database-url.ts";

const encryptionKey = Buffer.alloc(32, 7).toString("base64");
const database = "postgres://svc:geheim@127.0.0.1:1/service?sslmode=disable&password=geheim";
const quiet = { logLevel: "silent" } as const;

const refused = (options: Options, words: RegExp) =>
  assert.rejects(createService({ ...quiet, ...options }), (error) => {
    assert.ok(error instanceof BadOptions, String(error));
    assert.match(error.message, words);
    return true;
  });

test("a database of PostgreSQL needs its key, and takes no option of a file; a file takes none of PostgreSQL", async () => {
  await assert.rejects(createService({ ...quiet, database }), (error) => {
    assert.ok(error instanceof DatabaseError);
    assert.match(error.message, /postgres:\/\/svc@127\.0\.0\.1:1\/service cannot be used: it needs its encryption key/);
    return true;
  });
  await refused({ database, encryptionKey, keyFile: "key" }, /^option keyFile cannot be combined with encryptionKey/);
  await refused({ database, encryptionKey: "short" }, /^option encryptionKey must be 32 bytes in base64 or hex/);
  await refused({ database: "postgres://[", encryptionKey }, /^option database must be a URL such as postgres:/);
  await refused(
    { database, encryptionKey, deployments: { runtime: "process" } },
    /^option apps.folder must name a folder of this machine for a runtime with PostgreSQL/,
  );
  await refused({ database, encryptionKey, assets: { store: "folder" } }, /^option assets.folder .* belong together/);
  const ofPostgres = [
    { encryptionKey },
    { keyFile: "key" },
    { assets: { store: "database" } },
    { apps: { folder: "apps" } },
  ] as const;
  for (const options of ofPostgres)
    await refused(options, /is for PostgreSQL; a database file has its key and its files beside it$/);
});

test("a database is shown without its password and its settings", () => {
  assert.equal(withoutPassword(database), "postgres://svc@127.0.0.1:1/service");
  assert.equal(withoutPassword("postgresql:///service?host=/run"), "postgresql:///service");
  assert.equal(withoutPassword("./svc-data"), "./svc-data");
  assert.equal(describeDatabase("svc-data").startsWith("/"), true);
  assert.deepEqual(["postgres://h/d", "postgresql:///d", "./postgres", ":memory:"].map(isPostgres), [
    true,
    true,
    false,
    false,
  ]);
});

async function addressOf(t: { after(run: () => void): void }, server: Server): Promise<number> {
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.after(() => server.close());
  const address = server.address();
  assert.ok(address && typeof address === "object");
  return address.port;
}

/** Asserts an error of one sentence with the remedy, and no password anywhere in the error. */
const cannotBeUsed = (url: string, words: RegExp) =>
  assert.rejects(createService({ ...quiet, database: url, encryptionKey }), (error) => {
    assert.ok(error instanceof DatabaseError, String(error));
    assert.match(error.message, /^the database postgres:\/\/svc@127\.0\.0\.1:\d+\/service cannot be used: [a-z]/);
    assert.match(error.message, words);
    assert.doesNotMatch(inspect(error, { depth: 9 }), /geheim/);
    return true;
  });

test("a start without a server says so, and does not show the password", async (t) => {
  const unused = createServer();
  const port = await addressOf(t, unused);
  unused.close();
  await once(unused, "close");
  await cannotBeUsed(`postgres://svc:geheim@127.0.0.1:${port}/service`, /no server answers there; start PostgreSQL/);
  // Another program answers at that address.
  const other = createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
  other.on("connection", (socket) => socket.on("error", () => {}));
  await cannotBeUsed(`postgres://svc:geheim@127.0.0.1:${await addressOf(t, other)}/service`, /cannot be used: ./);
});

test("a server that refuses the password, and a pooler between, are named as such", async (t) => {
  const errorOf = (code: string, message: string) => {
    const body = Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${message}\0\0`);
    const length = Buffer.alloc(4);
    length.writeInt32BE(body.length + 4);
    return Buffer.concat([Buffer.from("E"), length, body]);
  };
  const answers: Readonly<Record<string, readonly [message: string, words: RegExp]>> = {
    "28P01": ['password authentication failed for user "svc"', /refuses the user or the password/],
    "3D000": ['database "service" does not exist', /no database of this name; make it first/],
    "53300": ["sorry, too many clients already", /accepts no more connections/],
    "57P03": ["the database system is starting up", /is starting or stopping; try again in a few seconds/],
    "08P01": [
      "unsupported startup parameter: statement_timeout",
      /a connection pooler in between .*; connect to the server of PostgreSQL itself/,
    ],
  };
  for (const [code, [message, words]] of Object.entries(answers)) {
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => socket.end(errorOf(code, message)));
    });
    await cannotBeUsed(`postgres://svc:geheim@127.0.0.1:${await addressOf(t, server)}/service`, words);
  }
});
