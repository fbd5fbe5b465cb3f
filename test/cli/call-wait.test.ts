import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { manualClockHint } from "../../lib/kernel/manual-clock-hint.ts";
import { runHere as run } from "../helpers/cli-in-process.ts";
import { launch, stream, temporaryFolder } from "../helpers/program.ts";

const start = "2026-01-01T00:00:00.000Z";

/** An emulator with a standing clock, and `call` with its owner's key. */
async function desk(t: TestContext) {
  const server = await launch(t, ["dev", "--port", "0", "--seed", "demo", "--clock", `manual@${start}`]);
  const home = temporaryFolder(t);
  const env = { SVC_URL: server.url, SVC_API_KEY: server.api_key ?? "", XDG_CONFIG_HOME: home, APPDATA: home };
  const call = (...words: string[]) => run(["call", ...words], home, env);
  const control = async (path: string, body: object) => {
    const headers = { "content-type": "application/json" };
    const method = "POST";
    const { ok } = await fetch(`${server.url}/_svc/${path}`, { method, headers, body: JSON.stringify(body) });
    assert.ok(ok, path);
  };
  const { data } = (await (await server.get("/v1/projects")).json()) as { data: { id: string }[] };
  const deploy = async (branch: string) => {
    const source = ["source.type=git", "source.repo=acme/web", `source.branch=${branch}`];
    const made = await call(
      "deployments.create",
      `project_id=${data[0]?.id}`,
      `environment=${branch}`,
      ...source,
      "--json",
    );
    return JSON.parse(made.stdout).id as string;
  };
  return { env, call, control, deploy };
}

test("a wait under a clock that stands says so at once, and work that ends in it is printed", async (t) => {
  const { env, control, deploy } = await desk(t);
  const waiting = stream(t, ["call", "deployments.get", await deploy("main"), "wait=60", "--json"], env);
  assert.equal(await waiting.warned, `svc-server: ${manualClockHint(start)}\n`);
  await control("clock/advance", { by: "1m" });
  const { value } = await waiting.lines.next();
  assert.equal(JSON.parse(value).status, "active");
  assert.equal((await waiting.ended).code, 0);
});

test("work that goes on after the wait is printed, and is no failure", async (t) => {
  const { call, deploy } = await desk(t);
  const { status, stdout } = await call("deployments.get", await deploy("main"), "wait=1", "--json");
  assert.deepEqual([status, JSON.parse(stdout).status], [0, "queued"]);
});

test("with wait, work that ended without success ends with 3; without it, with 0", async (t) => {
  const { call, control, deploy } = await desk(t);
  await control("scenarios", { match: { branch: "bad" }, outcome: { result: "fail" } });
  await control("scenarios", { match: { model: "broken" }, outcome: { result: "fail", message: "no such lake" } });
  const failed = await deploy("bad");
  const cancelled = await deploy("main");
  assert.equal((await call("deployments.cancel", cancelled)).status, 0);
  const model = await call("generations.create", "model=broken", "prompt=a lake", "--json");
  const generation = JSON.parse(model.stdout).id as string;
  await control("clock/advance", { by: "1m" });
  for (const [words, sentence] of [
    [
      ["deployments.get", failed],
      `deployments.get waited for work that ended as failed; its log: svc-server deployments logs ${failed}`,
    ],
    [
      ["deployments.get", cancelled],
      `deployments.get waited for work that ended as cancelled; its log: svc-server deployments logs ${cancelled}`,
    ],
    [["generations.get", generation], "generations.get waited for work that ended as failed: no such lake"],
  ] as const) {
    const waited = await call(...words, "wait=5", "--json");
    assert.deepEqual([waited.status, waited.stderr], [3, `svc-server: ${sentence}\n`]);
    assert.equal(JSON.parse(waited.stdout).id, words[1], "the record is printed all the same");
    assert.deepEqual([(await call(...words)).status, (await call(...words)).stderr], [0, ""]);
  }
  for (const [outcome, code] of [
    ["succeed", 0],
    ["rolled_back", 3],
  ] as const) {
    await control("scenarios", { next: "deployment", outcome: { result: outcome } });
    const id = await deploy("main");
    await control("clock/advance", { by: "1m" });
    assert.equal((await call("deployments.get", id, "wait=0")).status, code, outcome);
  }
});

test("calls that make work refuse to wait, and name the call that waits", async (t) => {
  const { call } = await desk(t);
  for (const feature of ["generations", "deployments"]) {
    const { status, stderr } = await call(`${feature}.create`, "model=image-draft", "prompt=hi", "wait=20");
    assert.equal(status, 2);
    assert.match(
      stderr,
      new RegExp(`^svc-server: ${feature}\\.create does not wait; .* call ${feature}\\.get ID wait=30`),
    );
  }
});
