import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { runHere } from "../helpers/cli-in-process.ts";
import { temporaryFolder } from "../helpers/program.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";
import { expect, keyOf } from "../helpers/test-service.ts";

async function desk(t: TestContext) {
  const here = await listeningWorld(t);
  const home = temporaryFolder(t);
  const env = {
    XDG_CONFIG_HOME: home,
    APPDATA: home,
    SVC_URL: `http://127.0.0.1:${here.port}`,
    SVC_API_KEY: keyOf("owner"),
  };
  return { ...here, command: (...words: string[]) => runHere(words, home, env) };
}

test("call prints a log that it follows, entry by entry", async (t) => {
  const here = await desk(t);
  const { id } = await here.deploy((await here.project()).id);
  await here.service.clock.advance("1m");
  const { stdout: whole } = await here.command("deployments", "logs", id);
  assert.match(whole, /^\S+Z {2}info {3}Queued\n/);
  for (const words of [
    ["call", "deployments.logs", id, "follow=true"],
    ["deployments", "logs", id, "--follow"],
  ])
    assert.deepEqual(await here.command(...words), { status: 0, stdout: whole, stderr: "" });
});

test("the log of an app that prints nothing says why it is empty", async (t) => {
  const here = await desk(t);
  const { id } = await here.project("web");
  expect(await here.call("owner", "PUT", `/v1/projects/${id}/environments/stage`, { variables: {} }), 200);
  const simulated = "svc-server: deployments are simulated here, so no app runs and prints\n";
  for (const [words, status, stderr] of [
    [["logs", "WEB", "--environment", "stage", "--follow"], 0, simulated],
    [["call", "environments.logs", id, "stage", "follow=true"], 0, simulated],
    [["logs", id, "--environment", "stage"], 0, "svc-server: no app has printed anything there yet\n"],
    [
      ["logs", "shop"],
      1,
      "svc-server: there is no project shop; name it with svc-server logs PROJECT, or create it: svc-server call projects.create region=local name=NAME\n",
    ],
  ] as const)
    assert.deepEqual(await here.command(...words), { status, stdout: "", stderr });
  assert.match((await here.command("logs", "web", "--environment", "none")).stderr, /not_found/);
  const client = here.service.client();
  await assert.rejects(client.environments.logs({ id, name: "stage", follow: true }), /read it with followLogs/);
});
