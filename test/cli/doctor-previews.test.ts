import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { runHere as run } from "../helpers/cli-in-process.ts";
import { codeHost } from "../helpers/code-host.ts";
import { temporaryFolder } from "../helpers/program.ts";
import { connectPreviews, hook, pullRequest } from "../helpers/pull-requests.ts";
import { expect, world } from "../helpers/test-service.ts";

test("doctor --deep finds the previews whose request the code host has closed", async (t) => {
  const folder = temporaryFolder(t);
  const database = join(folder, "svc.db");
  const host = await codeHost(t, "gitea");
  const here = await world(t, { database, clock: "real" });
  const { id: project_id } = await here.project();
  const id = await connectPreviews(here);
  for (const number of [7, 8, 9]) expect(await hook(here, id, pullRequest("opened", { number })), 202);
  await here.service.close();
  const config = join(folder, "config.json");
  writeFileSync(config, JSON.stringify({ database, port: 0, codeHost: host.options }));
  const look = async () => {
    const { stdout } = await run(["doctor", "--deep", "--config", config, "--json"]);
    assert.doesNotMatch(stdout, /tok_demo/);
    const findings = JSON.parse(stdout) as { check: string; ok: boolean; says: string }[];
    const wrong = findings.filter(({ check, ok }) => !ok && check !== "previews");
    const { ok, says } = findings.find(({ check }) => check === "previews") ?? {};
    return { wrong, previews: [ok, says] };
  };
  host.requests.set(7, "open").set(8, "closed");
  assert.deepEqual(await look(), {
    wrong: [],
    previews: [false, `delete pr-8 of ${project_id}, whose request acme/web#8 is closed`],
  });
  host.requests.set(8, "open");
  const found = "3 environments of pull requests";
  assert.deepEqual((await look()).previews, [true, `${found}; cannot be asked: acme/web#9`]);
  host.requests.set(9, "open");
  assert.deepEqual((await look()).previews, [true, `${found}, which are open`]);
  host.fail(503);
  const none = "the code host: it answered 503 without a state";
  assert.deepEqual((await look()).previews, [true, `${found}; cannot be asked: ${none}`]);
});
