import assert from "node:assert/strict";
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { createService } from "../../lib/index.ts";
import { runHere as run } from "../helpers/cli-in-process.ts";
import { jsonBearer } from "../helpers/headers.ts";
import { finishedGeneration, sharedPainter } from "../helpers/painter.ts";
import { launch, temporaryFolder } from "../helpers/program.ts";
import { world } from "../helpers/test-service.ts";

const demo = resolve("fixtures/demo.json");

test("a backup of a running server is complete, and restores the same records", async (t) => {
  const folder = temporaryFolder(t);
  const database = join(folder, "svc.db");
  const copy = join(folder, "copy.db");
  const server = await launch(t, ["start", "--port", "0", "--database", database, "--seed", demo]);
  const made = await run(["backup", copy, "--database", database]);
  assert.equal(made.status, 0, made.stderr);
  if (process.platform !== "win32")
    for (const file of [copy, `${copy}.key`]) assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.match((await run(["backup", copy, "--database", database])).stderr, /it already exists; name another file/);
  assert.equal((await run(["backup", copy, "--database", database, "--force"])).status, 0);

  const created = await fetch(`${server.base_url}/projects`, {
    method: "POST",
    headers: jsonBearer(server.api_key),
    body: '{"name":"afterwards","region":"eu-west-1"}',
  });
  assert.equal(created.status, 201);
  assert.match((await run(["restore", copy, "--database", database])).stderr, /it already exists/);
  const running = await run(["restore", copy, "--database", database, "--force"]);
  assert.deepEqual([running.status, /another svc-server/.test(running.stderr)], [1, true]);
  await server.stop("SIGKILL");

  assert.equal((await run(["restore", copy, "--database", database, "--force"])).status, 0);
  const again = await launch(t, ["start", "--port", "0", "--database", database]);
  const projects = (await (await again.get("/v1/projects", "sk_live_demo_owner")).json()) as {
    data: { name: string }[];
  };
  assert.ok(projects.data.length > 0);
  assert.ok(!projects.data.some(({ name }) => name === "afterwards"), "what came after the backup is gone");
});

test("backup and restore refuse invalid files with the reason, and change nothing", async (t) => {
  const folder = temporaryFolder(t);
  const at = (name: string) => join(folder, name);
  assert.equal((await run(["seed", demo, "--database", at("svc.db")])).status, 0);
  assert.equal((await run(["backup", at("copy.db"), "--database", at("svc.db")])).status, 0);
  writeFileSync(at("text.db"), "no database");
  copyFileSync(at("copy.db.key"), at("text.db.key"));
  const bytes = readFileSync(at("copy.db"));
  writeFileSync(at("damaged.db"), bytes.fill(0x41, 4096, 20_000));
  copyFileSync(at("copy.db.key"), at("damaged.db.key"));
  copyFileSync(at("copy.db"), at("cut.db"));
  truncateSync(at("cut.db"), 20_000);
  copyFileSync(at("copy.db.key"), at("cut.db.key"));
  const before = readFileSync(at("svc.db"));
  const cases: [string[], RegExp][] = [
    [["backup", at("b.db"), "--database", at("none.db")], /it does not exist; name the database/],
    [["backup", at("svc.db"), "--database", at("svc.db"), "--force"], /it is the database itself/],
    [["restore", at("none.db"), "--database", at("svc.db"), "--force"], /does not exist; a backup is a database and/],
    [["restore", at("text.db"), "--database", at("svc.db"), "--force"], /it is not an SQLite database/],
    [["restore", at("damaged.db"), "--database", at("svc.db"), "--force"], /it is damaged/],
    [["restore", at("cut.db"), "--database", at("svc.db"), "--force"], /it is truncated: .*; use another backup/],
    [["backup", at("none/b.db"), "--database", at("svc.db")], /the folder .*none does not exist; create it/],
    [["restore", at("copy.db"), "--database", at("none/svc.db")], /the folder .*none does not exist; create it/],
  ];
  for (const [words, sentence] of cases) {
    const { status, stderr } = await run(words);
    assert.equal(status, 1, words.join(" "));
    assert.match(stderr, sentence);
  }
  assert.deepEqual(readFileSync(at("svc.db")), before);
  rmSync(at("svc.db.key"));
  assert.match((await run(["backup", at("c.db"), "--database", at("svc.db")])).stderr, /key file is missing/);
  assert.ok(!existsSync(at("c.db")));
});

test("backup, restore, doctor and start recognise the key file of another database", async (t) => {
  const folder = temporaryFolder(t);
  const at = (name: string) => join(folder, name);
  assert.equal((await run(["seed", demo, "--database", at("svc.db")])).status, 0);
  assert.equal((await run(["backup", at("copy.db"), "--database", at("svc.db")])).status, 0);
  const other = `${Buffer.alloc(32, 7).toString("base64")}\n`;
  for (const name of ["svc.db.key", "copy.db.key"]) writeFileSync(at(name), other, { mode: 0o600 });
  const words = /encrypted with another key; restore the key file .*\.db\.key that belongs to it/;
  for (const command of [
    ["backup", at("b.db"), "--database", at("svc.db")],
    ["restore", at("copy.db"), "--database", at("new.db")],
    ["keys", "list", "--database", at("svc.db")],
  ]) {
    const { status, stderr } = await run(command);
    assert.deepEqual([status, words.test(stderr)], [1, true], `${command.join(" ")}: ${stderr}`);
  }
  assert.ok(!existsSync(at("b.db")) && !existsSync(at("new.db")), "nothing is made");
  assert.match(
    (await run(["doctor", "--database", at("svc.db"), "--port", "0"])).stdout,
    /WRONG +key file .*another key/,
  );
  writeFileSync(at("svc.db.key"), "short", { mode: 0o600 });
  assert.match((await run(["backup", at("b.db"), "--database", at("svc.db")])).stderr, /does not hold 32 bytes/);
});

const draw = sharedPainter();

test("backup, restore and doctor report missing or changed files of generations, whose links are 404", async (t) => {
  const folder = temporaryFolder(t);
  const at = (name: string) => join(folder, name);
  const options = { database: at("svc.db"), generations: { driver: draw() } };
  const here = await world(t, options);
  const [gone, longer, whole] = [
    await finishedGeneration(here),
    await finishedGeneration(here),
    await finishedGeneration(here),
  ];
  const fileOf = ({ id }: { id: string }) => join(at("svc.db-files"), id);
  const ask = async ({ output }: { output: { url: string } }) => here.service.fetch(output.url);
  const made = await run(["backup", at("copy.db"), "--database", at("svc.db"), "--json"]);
  assert.deepEqual(JSON.parse(made.stdout).lost_files, []);
  rmSync(fileOf(gone));
  appendFileSync(fileOf(longer), "junk");
  for (const one of [gone, longer]) {
    const answer = await ask(one);
    assert.equal(answer.status, 404);
    assert.match(await answer.text(), /this file is lost: it is missing on the service's disk, or was changed there/);
  }
  assert.equal((await ask(whole)).status, 200);
  await here.service.close();

  const poor = await run(["backup", at("poor.db"), "--database", at("svc.db")]);
  assert.equal(poor.status, 0, poor.stderr);
  assert.match(poor.stdout, /the files of 2 generations are missing or changed, such as that of gen_\w+: their links/);
  const doctor = async () => (await run(["doctor", "--database", at("svc.db"), "--port", "0"])).stdout;
  assert.match(await doctor(), /WRONG +files +the files of 2 generations .*; restore .*svc\.db-files from the backup/);
  const restored = await run(["restore", at("poor.db"), "--database", at("svc.db"), "--force", "--json"]);
  assert.deepEqual(JSON.parse(restored.stdout).lost_files, [gone.id, longer.id].sort());
  const bytes = readFileSync(fileOf(whole));
  writeFileSync(join(at("copy.db-files"), whole.id), bytes.fill(0, bytes.length - 4));
  const one = await run(["restore", at("copy.db"), "--database", at("svc.db"), "--force"]);
  assert.match(one.stdout, new RegExp(`the file of 1 generation is missing or changed, such as that of ${whole.id}`));
});

test("a seed is checked, and makes a new database", async (t) => {
  const folder = temporaryFolder(t);
  const database = join(folder, "svc.db");
  assert.match((await run(["seed", demo])).stdout, /^The seed is valid: 1 organization, 3 users, 1 project/);
  assert.deepEqual(Object.keys(JSON.parse((await run(["seed", demo, "--json"])).stdout)), [
    ...["organizations", "users", "projects", "database"],
  ]);
  assert.equal((await run(["seed", demo, "--database", database])).status, 0);
  assert.match(
    (await run(["keys", "list", "--database", database])).stdout,
    /^ID +NAME +USER +ROLE +SCOPES .*\nkey_\w+ +\S.* (owner|admin|developer|viewer) +\S/,
  );
  const own = await run(["keys", "create", "--database", database]);
  assert.match(own.stdout, /^sk_live_[0-9A-Za-z]{32,}\n$/, "the key alone");
  assert.match(
    own.stderr,
    /^\nThis is key_\w+, of a user with the role owner\. Its scopes are \*: everything that the role may do\./,
  );
  const narrow = (
    await run(["keys", "create", "--role", "viewer", "--scopes", "projects:read", "--database", database])
  ).stderr;
  assert.match(narrow, /of a user with the role viewer\. Its scopes are projects:read\. It/);
  assert.equal((await run(["mail", "--database", database])).stdout, "No e-mail has been sent yet.\n");
  // Otherwise it would ask the emulator at the default address, which a developer may be running.
  const home = join(folder, "home");
  mkdirSync(join(home, "svc-server"), { recursive: true });
  const profiles = { default: { url: "http://127.0.0.1:1", api_key: "sk_live_demo_owner" } };
  writeFileSync(join(home, "svc-server/profiles.json"), JSON.stringify(profiles), { mode: 0o600 });
  const nobody = { XDG_CONFIG_HOME: home, APPDATA: home };
  assert.match(
    (await run(["mail"], folder, nobody)).stderr,
    /svc-data cannot be used: it does not exist; name it with --database\. A server in memory \(svc-server dev\) has no file: svc-server mail --url URL/,
  );
  const again = await run(["seed", demo, "--database", database]);
  assert.deepEqual([again.status, /already exists; name a new file/.test(again.stderr)], [1, true]);
  const elsewhere = await run(["seed", demo, "--database", "postgres://svc@127.0.0.1:1/svc"]);
  assert.deepEqual([elsewhere.status, /start a server with --seed FILE/.test(elsewhere.stderr)], [2, true]);
  const wrong = join(folder, "wrong.json");
  writeFileSync(wrong, '{"organizations":[{"name":""}]}');
  assert.match((await run(["seed", wrong])).stderr, /organizations\.0\.name must have 1 to 64 characters/);
});

test("on a terminal, long work shows how far it is in one line that it removes; elsewhere it is silent", async (t) => {
  const folder = temporaryFolder(t);
  const at = (name: string) => join(folder, name);
  assert.equal((await run(["seed", demo, "--database", at("svc.db")])).status, 0);
  writeFileSync(at("new.key"), Buffer.alloc(32, 7).toString("base64"));
  writeFileSync(at("next.key"), Buffer.alloc(32, 8).toString("base64"));
  const service = await createService({ seed: JSON.parse(readFileSync(demo, "utf8")), clock: "manual" });
  t.after(() => service.close());
  const { url } = await service.listen({ port: 0 });
  const commands: [string[], RegExp][] = [
    [["backup", at("copy.db"), "--force"], /copying the database, in MB: 100% of \d/],
    [["restore", at("copy.db"), "--force"], /comparing checksums of files: 50% of 2/],
    [["keys", "rotate-encryption", "--new-key-file", at("new.key")], /encrypting \w+: 100% of \d/],
    [["verify", "--url", url], /checking Pagination: \d\d% of \d\d/],
  ];
  const env = { SVC_DATABASE: at("svc.db"), SVC_API_KEY: "sk_live_demo_owner" };
  const { isTTY } = process.stderr;
  t.after(() => {
    process.stderr.isTTY = isTTY;
  });
  for (const [words, step] of commands) {
    process.stderr.isTTY = false;
    const silent = await run(words, folder, env);
    assert.deepEqual([silent.status, silent.stderr], [0, ""], words[0]);
    process.stderr.isTTY = true;
    const again = words.map((word) => word.replace(/new\.key$/, "next.key"));
    const { status, stderr } = await run(again, folder, env);
    assert.equal(status, 0, words[0]);
    assert.match(stderr, step);
    const lines = stderr.split("\r\u001b[K");
    assert.deepEqual([lines[0], lines.at(-1)], ["", ""], "the line is removed");
    assert.ok(lines.length < 120 && lines.every((line) => line.length < 80 && !line.includes("\n")), stderr);
  }
});
