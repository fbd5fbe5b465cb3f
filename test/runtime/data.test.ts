import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { createService } from "../../lib/index.ts";
import { backup, restore } from "../../lib/store/transfer/backup.ts";
import { endOf } from "../helpers/deployments.ts";
import { temporaryFolder } from "../helpers/program.ts";
import { noSandbox, runtimeWorld } from "../helpers/running-apps.ts";
import { expect } from "../helpers/test-service.ts";
import { until } from "../helpers/until.ts";

const host = "production-web.localhost";

/** Counts its starts in a file of `/data`, and shows the content at given paths. */
const counter = (version: string, size = 0) => ({
  Procfile: "web: node server.js\nworker: node worker.js",
  "worker.js": `
const { appendFileSync } = require("node:fs");
appendFileSync(process.env.DATA_DIR + "/worker", "${version}\\n");
console.log("works as ${version}");
process.on("SIGTERM", () => { appendFileSync(process.env.DATA_DIR + "/worker", "end ${version}\\n"); process.exit(0); });
setInterval(() => {}, 1000);
`,
  "server.js": `
const { readFileSync, appendFileSync, writeFileSync, readdirSync } = require("node:fs");
const { createServer } = require("node:http");
appendFileSync(process.env.DATA_DIR + "/starts", "${version} ");
if (${size} > 0) writeFileSync(process.env.DATA_DIR + "/large", Buffer.alloc(${size}, 1));
createServer((request, response) => {
  try {
    const path = decodeURIComponent(request.url.slice(1));
    response.end(path.endsWith("/") ? readdirSync(path).join() : readFileSync(path.replace("DATA", process.env.DATA_DIR), "utf8"));
  } catch (error) { response.end(error.code); }
}).listen(process.env.PORT, process.env.HOST);
`,
});

test("an environment that is deleted and deployed again begins without data, and keeps its own", async (t) => {
  const database = join(temporaryFolder(t), "svc.db");
  const here = await runtimeWorld(t, { database });
  const { id } = await here.project("web");
  const [{ "server.js": app }, begin] = [counter("one"), "process.on('SIGTERM', () => {});"];
  here.repos.commit("acme/web", { Procfile: "web: node server.js", "server.js": begin + app });
  assert.equal((await here.release(id)).status, "active");
  expect(await here.call("developer", "DELETE", `/v1/projects/${id}/environments/production`), 204);
  assert.equal((await here.release(id)).status, "active");
  assert.equal(await here.ask(host, "/DATA%2Fstarts"), "200 one ");
  const kept = () => readdirSync(join(`${database}-data`, id)).join();
  await until(
    () => kept() === "of-production",
    () => here.ask(host),
  );
  assert.equal(await here.ask(host, "/DATA%2Fstarts"), "200 one ");
});

test("a worker of an earlier release gets one SIGTERM, and finishes its work", async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  const { Procfile, "server.js": app } = counter("one");
  const worker = `
const { appendFileSync } = require("node:fs");
const note = (text) => appendFileSync(process.env.DATA_DIR + "/signals", text);
process.on("SIGTERM", () => { note("asked "); setTimeout(() => { note("ended "); process.exit(0); }, 500); });
console.log("works");
`;
  here.repos.commit("acme/web", { Procfile, "server.js": app, "worker.js": `${worker}setInterval(() => {}, 1000);` });
  assert.equal((await here.release(id)).status, "active");
  await here.printed(id, /^\[worker\] works$/);
  here.repos.commit("acme/web", counter("two"));
  assert.equal((await here.release(id)).status, "active");
  await here.printed(id, /^\[worker\] works as two$/);
  assert.equal(await here.ask(host, "/DATA%2Fsignals"), "200 asked ended ");
});

test("/data stays over releases, restarts and rollbacks, belongs to its environment, and goes with it", async (t) => {
  const database = join(temporaryFolder(t), "svc.db");
  const here = await runtimeWorld(t, { database, deployments: { dataLimit: "1MiB" } });
  const { id } = await here.project("web");
  here.repos.commit("acme/web", counter("one"));
  const first = await here.release(id);
  assert.equal(first.status, "active", JSON.stringify(await here.messages(first.id)));
  assert.equal(await here.ask(host, "/DATA%2Fstarts"), "200 one ");
  await here.printed(id, /^\[worker\] works as one$/);

  here.repos.commit("acme/web", counter("two", 2_000_000));
  const second = await here.release(id);
  assert.equal(second.status, "active");
  assert.equal(await here.ask(host, "/DATA%2Fstarts"), "200 one two ");
  await here.printed(id, /^\[worker\] works as two$/);
  assert.equal(await here.ask(host, "/DATA%2Fworker"), "200 one\nend one\ntwo\n", "the old one has ended before");
  assert.match(
    await here.printed(id, /^\/data is full/),
    /^\/data is full: it holds .* more than deployments\.dataLimit \(1 MiB\); remove files, or raise the limit$/,
  );
  expect(await here.call("developer", "POST", `/v1/projects/${id}/environments/production/restart`), 200);
  const { id: back } = expect(await here.call("developer", "POST", `/v1/deployments/${second.id}/rollback`), 201);
  assert.equal((await endOf(here, "viewer", back)).status, "active");
  assert.equal(await here.ask(host, "/DATA%2Fstarts"), "200 one two two one ");

  const staged = await here.release(id, {}, "staging");
  assert.equal(staged.status, "active");
  const staging = "staging-web.localhost";
  assert.equal(await here.ask(staging, "/DATA%2Fstarts"), "200 two ", "each environment has its own");
  const [folder = ""] = readdirSync(`${database}-data`);
  const place = join(`${database}-data`, folder);
  assert.deepEqual(readdirSync(place).sort(), ["of-production", "of-staging"]);
  assert.equal(statSync(join(place, "of-production")).mode & 0o077, 0, "nobody else reads it");
  if (!noSandbox)
    for (const path of [join(place, "of-production", "starts"), "/data/../../of-production/starts"])
      assert.equal(await here.ask(staging, `/${encodeURIComponent(path)}`), "200 ENOENT");

  const { data } = expect(await here.call("viewer", "GET", `/v1/projects/${id}/environments`), 200);
  const production = data.find(({ name }: { name: string }) => name === "production");
  assert.ok(production.data_bytes > 2_000_000, String(production.data_bytes));
  assert.deepEqual(production.workers, ["worker"]);

  expect(await here.call("owner", "DELETE", `/v1/projects/${id}/environments/staging`), 204);
  await until(
    () => !existsSync(join(place, "of-staging")),
    () => here.ask(host),
  );
  assert.match(await here.ask(host, "/DATA%2Fstarts"), /^200 one/);
  expect(await here.call("owner", "DELETE", `/v1/projects/${id}`), 204);
  await until(
    () => !existsSync(place),
    () => here.ask(host),
  );
});

test("A worker that ends at once starts again, later and later, and its app serves on", async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  here.repos.commit("acme/web", {
    ...counter("one"),
    Procfile: "web: node server.js\nworker: exit 3\nnone: no-such-command",
  });
  assert.equal((await here.release(id)).status, "active");
  await here.printed(id, /^\[worker\] The worker ended with the exit code 3; it starts again in 0\.5 s$/);
  await here.printed(
    id,
    /^\[none\] The worker ended with the exit code 127: the command was not found: no-such-command;/,
  );
  assert.equal(await here.ask(host, "/DATA%2Fstarts"), "200 one ");
});

test("Backup and restore have /data, with a database of SQLite whole while it is written", async (t) => {
  const folder = temporaryFolder(t);
  const database = join(folder, "svc.db");
  const service = await createService({ database, logLevel: "error" });
  t.after(() => service.close());
  const place = join(`${database}-data`, "proj_one", "of-production");
  mkdirSync(join(place, "deep"), { recursive: true });
  writeFileSync(join(place, "deep", "note.txt"), "kept", { mode: 0o640 });
  symlinkSync("/etc/passwd", join(place, "link"));
  // A file of holes takes no space, and neither must its copies.
  writeFileSync(join(place, "holes"), "begin");
  truncateSync(join(place, "holes"), 2 ** 30);
  const written = new Database(join(place, "app.db"));
  t.after(() => written.close());
  written.pragma("journal_mode = WAL");
  written.exec("create table pairs (n integer); insert into pairs values (1), (1)");
  const stop = new AbortController();
  const copy = join(folder, "copy.db");
  let count = 0;
  const write = async () => {
    written.exec(`begin; insert into pairs values (${++count}); insert into pairs values (${count}); commit`);
    await new Promise((resolve) => setImmediate(resolve));
  };
  const writing = until(() => stop.signal.aborted, write);
  const { warnings } = await backup(database, copy, { force: false });
  stop.abort();
  await writing;
  assert.deepEqual(warnings, []);
  await service.close();
  rmSync(place, { recursive: true });
  assert.deepEqual((await restore(copy, database, { force: true })).warnings, []);
  assert.equal(readFileSync(join(place, "deep", "note.txt"), "utf8"), "kept");
  assert.equal(statSync(join(place, "deep", "note.txt")).mode & 0o777, 0o640);
  assert.deepEqual(readdirSync(place).sort(), ["app.db", "deep", "holes", "link"]);
  for (const holes of [join(`${copy}-data`, "proj_one/of-production/holes"), join(place, "holes")]) {
    const { size, blocks } = statSync(holes);
    assert.deepEqual([size, blocks * 512 < 2 ** 20], [2 ** 30, true], holes);
  }
  const restored = new Database(join(place, "app.db"), { readonly: true });
  t.after(() => restored.close());
  assert.equal(restored.pragma("integrity_check", { simple: true }), "ok");
  const rows = restored.prepare("select count(*) from pairs").pluck().get() as number;
  assert.ok(rows >= 2 && rows % 2 === 0, `${rows} rows are of whole transactions`);
});
