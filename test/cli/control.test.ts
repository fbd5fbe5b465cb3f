import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { run as command } from "../../bin/main.ts";
import { catalog } from "../../lib/events/catalog.ts";
import { launch, run, scratch } from "../program.ts";

/** An emulator with the demo organization, and the program beside it. */
async function emulator(t: TestContext, ...options: string[]) {
  const server = await launch(t, ["dev", "--port", "0", "--seed", "demo", ...options]);
  const home = scratch(t);
  const env = {
    SVC_URL: server.url,
    SVC_API_KEY: server.api_key ?? "",
    SVC_PROFILE: "",
    XDG_CONFIG_HOME: home,
    APPDATA: home,
  };
  const program = (...words: string[]) => {
    const { status, stdout, stderr } = run(words, home, env);
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
  assert.deepEqual(program("clock"), { status: 0, stdout: "2026-01-01T00:00:00.000Z  manual", stderr: "" });
  assert.deepEqual(JSON.parse(program("clock", "advance", "2h", "--json").stdout), {
    now: "2026-01-01T02:00:00.000Z",
    ran: 0,
  });
  assert.match(
    program("clock", "advance", "--to", "2026-01-02T00:00:00Z").stdout,
    /^2026-01-02T00:00:00.000Z, \d+ job/,
  );
  const past = program("clock", "advance", "--to", "2026-01-01T00:00:00Z", "--url", `${server.base_url}/`);
  assert.equal(past.status, 1);
  assert.match(past.stderr, /to must not be before 2026-01-02T00:00:00.000Z/);
});

test("snapshots keep the whole state and bring it back, and reset brings back the seed", async (t) => {
  const { program, env, events } = await emulator(t);
  const id = program("snapshots", "create").stdout;
  assert.match(id, /^snap_\w+$/);
  const project = ["call", "projects.create", "name=later", "region=eu-west-1"];
  assert.equal((await quietly(env, project)).code, 0);
  assert.deepEqual(await events(), ["project.created"]);
  assert.equal(JSON.parse(program("snapshots", "restore", id, "--json").stdout).id, id);
  assert.deepEqual(await events(), []);
  const none = await quietly(env, ["snapshots", "restore", "snap_none"]);
  assert.deepEqual([none.code, none.message?.includes("no snapshot has this identifier")], [1, true]);
  await quietly(env, project);
  assert.match(program("reset").stdout, /as after its start/);
  assert.deepEqual(await events(), []);
  const running = await quietly(env, ["clock", "advance", "2h"]);
  assert.equal(running.code, 1);
  assert.match(running.message ?? "", /moves a manual clock only; start with --clock manual/);
});

/** Runs a command in this process, which takes a tenth of the time of a program. Its output is dropped. */
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
    for (const name of Object.keys(catalog)) {
      const { length } = await events();
      const outcome = await quietly(env, ["trigger", name]);
      assert.deepEqual(outcome, { code: 0 }, name);
      const happened = (await events()).slice(length);
      assert.equal(happened.at(-1), name, `${name} is the last of ${happened}`);
    }
    const { event, data } = JSON.parse(program("trigger", "deployment.failed", "--json").stdout);
    assert.deepEqual([event, data.reason], ["deployment.failed", "npm ERR! build failed"]);
  });

test("a service without a control interface, and one that is not there, are named", async (t) => {
  const database = `${scratch(t)}/svc.db`;
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
    assert.match(message ?? "", /has no control interface; svc-server dev has one/, words.join(" "));
  }
  const gone = await quietly({ SVC_URL: "http://127.0.0.1:1" }, ["clock"]);
  assert.deepEqual([gone.code, gone.message?.includes("cannot be reached")], [1, true]);
});
