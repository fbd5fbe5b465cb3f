import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { createService } from "../../lib/index.ts";
import { jsonBearer } from "../headers.ts";
import { invariants, unfinished, violations } from "../invariants.ts";
import { folderOf } from "../room.ts";
import { git, keyOf, seed } from "../world.ts";

/** A violation of each rule. A rule that cannot be violated would check nothing. */
const breaks: Readonly<Record<string, string>> = {
  "a deployment's state and its events were stored together": "delete from events where event = 'deployment.succeeded'",
  "an event is about a deployment that exists, or whose project was removed":
    "update events set data = json_set(data, '$.deployment_id', 'dep_x') where event = 'deployment.started'",
  "a project is announced once, and is gone exactly when its removal was announced":
    "update events set event = 'project.deleted' where event = 'project.created'",
  "one deployment builds or rolls out at a time in an environment":
    "drop index deployments_running; update deployments set status = 'building' where environment = 'production'",
  "deployments of an environment begin in the order in which they were made": `
    update events set id = 'evt_0' where id =
      (select max(id) from events where event = 'deployment.started' and data like '%production%')`,
  "the times and the version of a deployment are those of its state": "update deployments set completed_at = null",
  "a deployment that runs has exactly one job that advances it": "delete from jobs where kind = 'deployments.advance'",
  "the first of a queue has lined up where nothing of its environment runs, and nobody else":
    "update deployments set lined_up = 2 where status = 'queued'",
  "a job comes when those that have lined up are ready": `
    delete from jobs where kind = 'deployments.turns'; update deployments set lined_up = 1 where status = 'queued'`,
  "somebody will see to those that are queued": `
    delete from jobs where kind = 'deployments.turns'; update deployments set status = 'queued'`,
  "a log has no gap, and is as long as its deployment says": "delete from deployment_logs where seq = 1",
  "whatever belongs to a record belongs to its organization": "update deployment_logs set organization_id = 'org_x'",
  "a deployment's environment was made with it": "delete from environments where name = 'production'",
  "a job that was begun was counted, and has a holder": "update jobs set state = 'running'",
};

test("every invariant holds in a busy service, and detects a violation", async (t) => {
  const file = join(folderOf(t), "svc.db");
  const clock = "manual@2026-01-01T00:00:00Z";
  const service = await createService({ database: file, seed, clock, random: "x", logLevel: "silent" });
  t.after(() => service.close());
  const post = async (path: string, body: object) => {
    const headers = jsonBearer(keyOf("owner"));
    const response = await service.fetch(`/v1${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    assert.equal(response.status, 201);
    return (await response.json()) as { id: string };
  };
  const { id: project_id } = await post("/projects", { name: "web", region: "eu" });
  const deploy = (environment: string) => post("/deployments", { project_id, environment, source: git });
  for (const environment of ["production", "production", "staging"]) await deploy(environment);
  await service.clock.advance("1m");
  for (const environment of ["production", "preview", "preview"]) await deploy(environment);
  await service.clock.advance("2s");

  const database = new Database(file);
  t.after(() => database.close());
  assert.deepEqual(violations(database), []);
  assert.notDeepEqual(unfinished(database), []);
  assert.deepEqual(Object.keys(breaks), Object.keys(invariants));
  database.pragma("foreign_keys = OFF");
  for (const [rule, sql] of Object.entries(breaks)) {
    database.exec("begin");
    database.exec(sql);
    const wrong = violations(database);
    assert.ok(
      wrong.some((one) => one.startsWith(rule)),
      `${rule}: ${wrong.join("\n")}`,
    );
    database.exec("rollback");
  }
  assert.deepEqual(violations(database), []);
});
