import assert from "node:assert/strict";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { runHere } from "../helpers/cli-in-process.ts";
import { launch, run, temporaryFolder } from "../helpers/program.ts";

const demo = resolve("fixtures/demo.json");

test("dev --json prints its address and the seed's first owner key first, and ends with 0 on SIGTERM", async (t) => {
  const server = await launch(t, ["dev", "--port", "0", "--seed", demo, "--clock", "manual@2026-01-01T00:00:00Z"]);
  assert.deepEqual(Object.keys(server).slice(0, 5), ["event", "url", "base_url", "dashboard_url", "api_key"]);
  assert.equal(server.event, "listening");
  assert.equal(server.base_url, `${server.url}/v1`);
  assert.equal(server.dashboard_url, `${server.url}/dashboard`);
  assert.match(await (await fetch(`${server.url}/dashboard`)).text(), /<title>svc-server<\/title>/);
  assert.equal(server.api_key, "sk_live_demo_owner");
  assert.equal((await server.get("/v1/projects")).status, 200);
  const clock = (await (await fetch(`${server.url}/_svc/clock`)).json()) as { now: string };
  assert.equal(clock.now, "2026-01-01T00:00:00.000Z");
  assert.deepEqual(await server.stop(), { code: 0, rest: ['{"event":"stopped"}'] });
});

test("the dashboard is at the public URL, with or without a slash at its end", async (t) => {
  for (const url of ["https://svc.example.com", "https://svc.example.com/"]) {
    const server = await launch(t, ["dev", "--port", "0", "--public-url", url]);
    assert.equal(server.dashboard_url, "https://svc.example.com/dashboard");
    await server.stop();
  }
});

test("dev without a seed prints a key that works, and --key fixes it", async (t) => {
  const server = await launch(t, [
    "dev",
    "--port=0",
    "--key",
    "sk_live_demo_mine",
    "--envelope",
    "full",
    "--rate-limit",
    "7",
  ]);
  const answer = await server.get("/v1/me", "sk_live_demo_mine");
  assert.equal(server.api_key, "sk_live_demo_mine");
  assert.equal(answer.headers.get("x-ratelimit-limit"), "7");
  assert.equal(
    ((await answer.json()) as { data: { organization: { name: string } } }).data.organization.name,
    "default",
  );
  assert.deepEqual(await server.stop("SIGHUP"), { code: 0, rest: ['{"event":"stopped"}'] });
});

test("bare svc-server with flags is start: no control interface, a file, its key shown at the first start only", async (t) => {
  const folder = temporaryFolder(t);
  const first = await launch(t, ["--port", "0"], folder);
  assert.ok(existsSync(join(folder, "svc-data")));
  assert.match(first.api_key ?? "", /^sk_live_[A-Za-z0-9]{32,}$/);
  for (const path of ["clock", "inbox", "mail", "scenarios", "faults", "journal"])
    assert.equal((await first.get(`/_svc/${path}`)).status, 404);
  for (const path of ["clock/advance", "settle", "scenarios", "faults", "deliveries", "snapshots", "reset"])
    assert.equal((await fetch(`${first.url}/_svc/${path}`, { method: "POST" })).status, 404);
  await first.stop();
  const second = await launch(t, ["start", "--port", "0"], folder);
  assert.equal(second.api_key, null);
  assert.equal((await second.get("/v1/me", first.api_key)).status, 200);
  await second.stop();
});

test("keys are created, listed and revoked beside a running server, which obeys at once", async (t) => {
  const folder = temporaryFolder(t);
  const database = join(folder, "svc.db");
  const server = await launch(t, ["start", "--port", "0", "--database", database]);
  const made = await runHere([
    "keys",
    "create",
    "--database",
    database,
    "--role",
    "viewer",
    "--scopes",
    "projects:read",
    "--json",
  ]);
  const { id, key } = JSON.parse(made.stdout) as { id: string; key: string };
  assert.equal((await server.get("/v1/projects", key)).status, 200);
  assert.equal((await server.get("/v1/deployments", key)).status, 403);
  assert.match((await runHere(["keys", "list", "--database", database])).stdout, new RegExp(id));
  assert.equal((await runHere(["keys", "revoke", id, "--database", database])).status, 0);
  assert.equal((await server.get("/v1/projects", key)).status, 401);
  const again = await runHere(["keys", "revoke", id, "--database", database]);
  assert.equal(again.status, 1);
  assert.match(again.stderr, /no key has this identifier/);
  await server.stop();
});

test("a second server on one database file ends with 1 and names the first one's pid", async (t) => {
  const database = join(temporaryFolder(t), "svc.db");
  const first = await launch(t, ["start", "--port", "0", "--database", database]);
  const second = run(["start", "--port", "0", "--database", database]);
  assert.equal(second.status, 1);
  assert.match(second.stderr, new RegExp(`pid ${first.pid}\\b`));
  assert.equal((await first.get("/v1/me")).status, 200);
  await first.stop("SIGKILL");
  const third = await launch(t, ["start", "--port", "0", "--database", database]);
  assert.equal((await third.get("/v1/me", first.api_key)).status, 200);
});

test("start refuses a key file without its database, unless --create is given", async (t) => {
  const database = join(temporaryFolder(t), "svc.db");
  await (await launch(t, ["start", "--port", "0", "--database", database])).stop();
  for (const end of ["", "-wal", "-shm"]) rmSync(database + end, { force: true });
  const lost = run(["start", "--port", "0", "--database", database]);
  assert.equal(lost.status, 1);
  assert.match(lost.stderr, /key file .* exists, but the database is missing/);
  assert.ok(!existsSync(database));
  const anew = await launch(t, ["start", "--port", "0", "--database", database, "--create"]);
  assert.notEqual(anew.api_key, null);
});

test("a manual clock is kept in the store and never goes back", async (t) => {
  const database = join(temporaryFolder(t), "svc.db");
  const words = ["dev", "--port", "0", "--database", database, "--clock", "manual@2026-01-01T00:00:00Z"];
  const first = await launch(t, words);
  await fetch(`${first.url}/_svc/clock/advance`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"by":"36h"}',
  });
  await first.stop("SIGKILL");
  const second = await launch(t, words);
  assert.equal(
    ((await (await fetch(`${second.url}/_svc/clock`)).json()) as { now: string }).now,
    "2026-01-02T12:00:00.000Z",
  );
});

test("--repos names a folder, and is an option of dev alone", async (t) => {
  const folder = temporaryFolder(t);
  for (const [words, sentence] of [
    [["start", "--repos", "."], /option --repos is for svc-server dev/],
    [["doctor", "--repos", "."], /option --repos is for svc-server dev/],
    [["dev", "--repos", "none"], /option --repos must be a folder of repositories; there is none at none$/m],
  ] as const) {
    const { status, stderr } = await runHere(words, folder);
    assert.deepEqual([status, sentence.test(stderr)], [2, true], stderr);
  }
});

test("a port in use is explained, with the server that runs on the database, and hides no wrong option", async (t) => {
  const folder = temporaryFolder(t);
  const database = join(folder, "svc.db");
  const { url, pid } = await launch(t, ["start", "--port", "0", "--database", database]);
  const { port } = new URL(url);
  const at = (...words: string[]) => run([...words, "--port", port], folder).stderr;
  const again = at("start", "--database", database);
  assert.match(
    again,
    new RegExp(`port ${port} is in use, and svc-server \\(pid ${pid}\\) is already running on .*svc\\.db;`),
  );
  assert.match(at("start"), /is in use; choose another port with --port \(0 picks a free one\), or stop the program/);
  assert.match(at("start", "--public-url", "nope"), /option --public-url must be an http or https URL/);
  const doctor = await runHere(["doctor", "--port", port, "--database", database, "--behind-proxy"], folder);
  assert.equal(doctor.status, 0, doctor.stdout);
  assert.match(
    doctor.stdout,
    new RegExp(`ok +port +.* is in use; svc-server \\(pid ${pid}\\) is running on this database`),
  );
  assert.deepEqual(
    readdirSync(folder).filter((name) => !name.startsWith("svc.db")),
    [],
  );
});

test("start warns that the keys of the seed demo are public", async (t) => {
  const words = ["start", "--port", "0", "--seed", "demo", "--database", join(temporaryFolder(t), "svc.db")];
  const server = await launch(t, words);
  assert.match(server.errors(), /"level":"warn","message":"the API keys of the seed demo are public/);
});

test("help shows the options of its mode and the fields of its operation", async () => {
  const help = async (...words: string[]) => (await runHere([...words, "--help"])).stdout;
  for (const name of ["start", "doctor"])
    assert.doesNotMatch(await help(name), /--(key|clock|send|repos)(?![\w-])/, name);
  assert.match(await help("dev"), /--key=[\s\S]*--send/);
  assert.match(await help("users", "invite"), /FIELDS\n\n +email +required[\s\S]*owner\|admin\|developer\|viewer/);
});

test("--help and --version print to stdout and end with 0", async () => {
  assert.match(run(["--version"]).stdout, /^\d+\.\d+\.\d+\n$/);
  for (const words of [["--help"], ["dev", "--help"], ["help", "keys", "create"]]) {
    const { status, stdout } = await runHere(words);
    assert.equal(status, 0);
    assert.match(stdout, new RegExp(`USAGE svc-server${words.includes("keys") ? " keys create" : ""}`));
    assert.doesNotMatch(stdout, / $/m, "nothing pads the end of a line");
  }
});
