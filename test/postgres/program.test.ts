import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { launch, run, temporaryFolder } from "../helpers/program.ts";
import { emptyDatabase } from "./databases.ts";

const key = Buffer.alloc(32, 7).toString("hex");

test("the program starts on PostgreSQL with its key in a file, and commands beside it take it from there or a variable", async (t) => {
  const { url } = await emptyDatabase(t);
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, "key"), `${key}\n`);
  const server = await launch(t, ["start", "--database", url, "--key-file", "key", "--port", "0"], folder);
  const made = run(["keys", "create", "--database", url, "--json"], folder, { SVC_ENCRYPTION_KEY: key });
  assert.equal(made.status, 0, made.stderr);
  const listed = run(["keys", "list", "--database", url, "--key-file", "key"], folder);
  assert.equal(listed.status, 0, listed.stderr);
  const headers = { authorization: `Bearer ${JSON.parse(made.stdout).key}` };
  assert.equal((await fetch(`${server.url}/v1/me`, { headers })).status, 200);

  const second = await launch(t, ["start", "--database", url, "--key-file", "key", "--port", "0"], folder);
  assert.equal((await fetch(`${second.url}/v1/me`, { headers })).status, 200);

  const refused = (words: readonly string[], env: Readonly<Record<string, string>>, sentence: RegExp, code: number) => {
    const { status, stdout, stderr } = run(words, folder, env);
    assert.match(stderr, sentence);
    assert.doesNotMatch(stdout + stderr, /wrong-but-trusted/);
    assert.equal(status, code);
  };
  const again = ["start", "--database", url, "--port", "0"];
  refused(again, {}, /it needs its encryption key.* For a new database, make one with: openssl rand/, 1);
  refused(
    ["keys", "list", "--database", url],
    {},
    /it needs its encryption key, in SVC_ENCRYPTION_KEY or a file that --key-file names; no other key reads the secrets of a database with data\n$/,
    1,
  );
  refused(
    ["keys", "list", "--database", url],
    { SVC_ENCRYPTION_KEY: "short" },
    /SVC_ENCRYPTION_KEY must be 32 bytes/,
    2,
  );
  refused(
    ["keys", "list", "--key-file", "key"],
    {},
    /option --key-file is for PostgreSQL; a database file has its key and its files beside it/,
    2,
  );
  const lost = { SVC_ASSETS_STORE: "folder", SVC_ASSETS_FOLDER: "missing/mount" };
  refused(
    [...again, "--key-file", "key"],
    lost,
    /assets.*folder must name a folder that all servers share; .*mount/i,
    2,
  );
  refused([...again, "--key-file", "none"], {}, /the key file none: /, 1);
  refused(
    ["keys", "list", "--database", url],
    { SVC_ENCRYPTION_KEY: "0".repeat(64) },
    /were encrypted with another key/,
    1,
  );
  const shown = url.replace(":wrong-but-trusted", "");
  const secret = { SVC_ENCRYPTION_KEY: key };
  const backup = `this command works only on a database file; for PostgreSQL, use: pg_dump --format=custom --file=copy ${shown}`;
  refused(["backup", "copy", "--database", url], secret, new RegExp(backup), 2);
  refused(
    ["restore", "copy", "--database", url],
    secret,
    /pg_restore --clean --if-exists --dbname=postgres:.* copy/,
    2,
  );
});
