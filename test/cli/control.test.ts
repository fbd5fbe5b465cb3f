import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { run as command } from "../../bin/main.ts";
import { catalog } from "../../lib/features/events/catalog.ts";
import { runHere as run } from "../helpers/cli-in-process.ts";
import { withSnapshots } from "../helpers/engine.ts";
import { launch, temporaryFolder } from "../helpers/program.ts";
import { noSandbox } from "../helpers/running-apps.ts";

/** An emulator with the demo organization, and the program beside it. */
const emulator = (t: TestContext, ...options: string[]) => bareEmulator(t, "--seed", "demo", ...options);

async function bareEmulator(t: TestContext, ...options: string[]) {
  const server = await launch(t, ["dev", "--port", "0", ...options]);
  const home = temporaryFolder(t);
  const env = {
    SVC_URL: server.url,
    SVC_API_KEY: server.api_key ?? "",
    SVC_PROFILE: "",
    XDG_CONFIG_HOME: home,
    APPDATA: home,
  };
  const program = async (...words: string[]) => {
    const { status, stdout, stderr } = await run(words, home, env);
    return { status, stdout: stdout.trim(), stderr };
  };
  const events = async () => {
    const { data } = (await (await server.get("/v1/events?per_page=100")).json()) as { data: { event: string }[] };
    return data.map(({ event }) => event).reverse();
  };
  return { server, env, program, events };
}

test("clock shows the time and moves it, by a duration or to an instant", async (t) => {
  const { program, server } = await emulator(t, "--clock", "manual@2026-01-01T00:00:00Z");
  assert.deepEqual(await program("clock"), { status: 0, stdout: "2026-01-01T00:00:00.000Z  manual", stderr: "" });
  assert.deepEqual(JSON.parse((await program("clock", "advance", "2h", "--json")).stdout), {
    now: "2026-01-01T02:00:00.000Z",
    ran: 0,
  });
  assert.match(
    (await program("clock", "advance", "--to", "2026-01-02T00:00:00Z")).stdout,
    /^2026-01-02T00:00:00.000Z, \d+ job/,
  );
  // No job waits, so the clock stays.
  assert.match((await program("clock", "advance", "--to", "idle")).stdout, /^2026-01-02T00:00:00.000Z, 0 jobs/);
  const past = await program("clock", "advance", "--to", "2026-01-01T00:00:00Z", "--url", `${server.base_url}/`);
  assert.equal(past.status, 1);
  assert.match(past.stderr, /to must not be before 2026-01-02T00:00:00.000Z/);
});

test("snapshots keep the whole state and bring it back, and reset brings back the seed", withSnapshots, async (t) => {
  const { program, env, events } = await emulator(t);
  const id = (await program("snapshots", "create")).stdout;
  assert.match(id, /^snap_\w+$/);
  const project = ["call", "projects.create", "name=later", "region=eu-west-1"];
  assert.equal((await quietly(env, project)).code, 0);
  assert.deepEqual(await events(), ["project.created"]);
  assert.equal(JSON.parse((await program("snapshots", "restore", id, "--json")).stdout).id, id);
  assert.deepEqual(await events(), []);
  const none = await quietly(env, ["snapshots", "restore", "snap_none"]);
  assert.deepEqual([none.code, none.message?.includes("no snapshot has this identifier")], [1, true]);
  await quietly(env, project);
  assert.match((await program("reset")).stdout, /The emulator is reset/);
  assert.deepEqual(await events(), []);
  const running = await quietly(env, ["clock", "advance", "2h"]);
  assert.equal(running.code, 1);
  assert.match(
    running.message ?? "",
    /only a manual clock can be moved, and this one runs by itself: start with --clock manual/,
  );
});

/** Runs a command in this process, which takes a tenth of the time of a program. Drops its output. */
async function quietly(env: Readonly<Record<string, string>>, words: readonly string[]) {
  const before = { ...process.env };
  const { write } = process.stdout;
  Object.assign(process.env, env);
  process.stdout.write = () => true;
  try {
    return await command(words);
  } finally {
    process.stdout.write = write;
    for (const name of Object.keys(env)) delete process.env[name];
    Object.assign(process.env, before);
  }
}

for (const clock of ["manual", "real"])
  test(`trigger makes each of the events happen under a ${clock} clock`, async (t) => {
    const { program, env, events } = await emulator(t, "--clock", clock);
    // These need a running app, which this emulator does not have.
    const ofApps = ["app.crashed", "schedule.failed"];
    for (const name of Object.keys(catalog).filter((one) => !ofApps.includes(one))) {
      const { length } = await events();
      const outcome = await quietly(env, ["trigger", name]);
      assert.deepEqual(outcome, { code: 0 }, name);
      const happened = (await events()).slice(length);
      assert.equal(happened.at(-1), name, `${name} is the last of ${happened}`);
    }
    const { event, data } = JSON.parse((await program("trigger", "deployment.failed", "--json")).stdout);
    assert.deepEqual([event, data.reason], ["deployment.failed", "npm ERR! build failed"]);
  });

test("trigger makes its project in the first region that the service has", async (t) => {
  const config = `${temporaryFolder(t)}/svc.json`;
  writeFileSync(config, JSON.stringify({ regions: ["mars-1", "moon-2"] }));
  const { env, program } = await bareEmulator(t, "--config", config);
  for (const name of ["project.created", "deployment.succeeded"])
    assert.deepEqual(await quietly(env, ["trigger", name]), { code: 0 }, name);
  const { data } = JSON.parse((await program("call", "projects.list", "--json")).stdout);
  assert.deepEqual(
    data.map(({ region }: { region: string }) => region),
    ["mars-1", "mars-1"],
  );
});

/** The numbers of projects and scenarios that trigger left. */
async function leftBy({ program }: Awaited<ReturnType<typeof bareEmulator>>) {
  const list = async (...words: string[]) => JSON.parse((await program(...words, "--json")).stdout).data.length;
  return [await list("call", "projects.list"), await list("scenarios")];
}

test("a trigger whose deployment takes another scenario says so, and leaves nothing behind", async (t) => {
  const here = await bareEmulator(t, "--clock", "manual");
  const { id } = JSON.parse((await here.program("scenarios", "add", "outcome.result=fail", "--json")).stdout);
  const { code, message } = await quietly(here.env, ["trigger", "deployment.succeeded"]);
  assert.equal(code, 1);
  assert.match(
    message ?? "",
    new RegExp(`the scenario ${id} comes first and .*: svc-server scenarios remove ${id}$`, "m"),
  );
  assert.deepEqual(await leftBy(here), [0, 1]);
  await here.program("scenarios", "remove", id);
  assert.deepEqual(await quietly(here.env, ["trigger", "deployment.succeeded"]), { code: 0 });
  assert.deepEqual(await leftBy(here), [1, 0]);
});

test("where deployments are not simulated, a trigger and a scenario say so", { skip: noSandbox }, async (t) => {
  const here = await bareEmulator(t, "--runtime", "process", "--apps-port", "0", "--repos", temporaryFolder(t));
  const { code, message } = await quietly(here.env, ["trigger", "deployment.failed"]);
  assert.equal(code, 1);
  assert.match(message ?? "", /deployments are not simulated here, so a trigger cannot decide .* without --runtime$/m);
  assert.deepEqual(await leftBy(here), [0, 0]);
  await here.program("scenarios", "add", "match.model=x", "outcome.result=fail");
  assert.doesNotMatch(here.server.errors(), /take no scenario.*alone/);
  await here.program("scenarios", "add", "outcome.result=fail");
  assert.match(here.server.errors(), /deployments .* take no scenario, so the new one applies to generations only/);
});

test("a missing control interface and an unreachable service are named", async (t) => {
  const database = `${temporaryFolder(t)}/svc.db`;
  const server = await launch(t, ["start", "--port", "0", "--database", database]);
  const env = { SVC_URL: server.url, SVC_API_KEY: server.api_key ?? "" };
  for (const words of [
    ["clock"],
    ["reset"],
    ["snapshots", "restore", "x"],
    ["trigger", "deployment.queued"],
    ["trigger", "project.created"],
  ]) {
    const { code, message } = await quietly(env, words);
    assert.equal(code, 1);
    assert.match(
      message ?? "",
      /has no control interface for this machine \(.+\); svc-server dev has one/,
      words.join(" "),
    );
  }
  const gone = await quietly({ SVC_URL: "http://127.0.0.1:1" }, ["clock"]);
  assert.deepEqual([gone.code, gone.message?.includes("cannot be reached")], [1, true]);
});

test("a wait before a retry is announced on stderr, with its reason", async (t) => {
  const { server, program } = await emulator(t);
  const made = await fetch(`${server.url}/_svc/faults`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ respond: { status: 503, headers: { "retry-after": "1" } }, times: 1 }),
  });
  assert.equal(made.status, 200, await made.text());
  const { status, stderr } = await program("call", "projects.list");
  assert.equal(status, 0);
  assert.match(stderr, /^svc-server: retrying in 1 s: \S.*\n$/);
});
