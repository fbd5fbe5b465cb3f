import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, watch, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import Database from "better-sqlite3";
import { createService } from "../../lib/index.ts";
import { invariants } from "../../lib/store/invariants.ts";
import { runHere } from "../helpers/cli-in-process.ts";
import { quiet } from "../helpers/database-rows.ts";
import { unfinished, violations } from "../helpers/invariants.ts";
import { run } from "../helpers/program.ts";
import { connectPreviews, hook, pullRequest } from "../helpers/pull-requests.ts";
import { folderOf } from "../helpers/temporary-store.ts";
import { world } from "../helpers/test-service.ts";

const dropGuard = "drop index deployments_running;";
const newestEvent = (event: string) => `(select max(id) from events where event = '${event}')`;

/** A violation of each rule; a rule that cannot be violated would check nothing. */
const breaks: Readonly<Record<string, string>> = {
  "a deployment's state and its events were stored together": "delete from events where event = 'deployment.succeeded'",
  "an event is about a deployment that exists, or whose project was removed":
    "update events set data = json_set(data, '$.deployment_id', 'dep_x') where event = 'deployment.started'",
  "a project is announced once, and is gone exactly when its removal was announced":
    "update events set event = 'project.deleted' where event = 'project.created'",
  "one deployment builds or rolls out at a time in an environment": `${dropGuard}
    update deployments set status = 'building' where environment = 'production'`,
  "deployments of an environment begin in the order in which they were made": `
    update events set id = 'evt_0' where id =
      (select max(id) from events where event = 'deployment.started' and data like '%production%')`,
  "the times and the version of a deployment are those of its state": "update deployments set completed_at = null",
  "a deployment that runs has exactly one job that advances it": "delete from jobs where kind = 'deployments.advance'",
  "the first deployment of a queue is lined up if nothing runs in its environment, and no other one is":
    "update deployments set lined_up = 2 where status = 'queued'",
  "a job is there once lined-up deployments are ready": `
    delete from jobs where kind = 'deployments.turns'; update deployments set lined_up = 1 where status = 'queued'`,
  "a job or a running deployment starts queued deployments": `
    delete from jobs where kind = 'deployments.turns'; update deployments set status = 'queued'`,
  "a log has no gap, and is as long as its deployment says": "delete from deployment_logs where seq = 1",
  "a job removes the rows of a deleted project or endpoint": "insert into removals select id from projects",
  "a delivery carries an event of its organization, once to each target of an endpoint": `
    update deliveries set event_id = ${newestEvent("project.created")}`,
  "a delivery has six attempts at most in its schedule, and counts each one that it stores":
    "update deliveries set rung = 7, tries = 7",
  "a delivery that succeeded or was abandoned has its last attempt stored, and no next one":
    "update deliveries set status = 'succeeded'",
  "a job sends what is pending": "delete from jobs where kind = 'deliveries.pump'",
  "the times, the file and the error of a generation are those of its state": "update generations set etag = null",
  "a generation in progress has exactly one job that advances it":
    "delete from jobs where kind = 'generations.advance'",
  "usage counts each completed generation once": "update generation_usage set cost_micros = cost_micros + 1",
  "a pending mail has exactly one job that sends it": "update mails set status = 'pending'",
  "an open preview has its environment, and a job that ends it": "delete from jobs where kind = 'previews.end'",
  "the rows of a record belong to its organization": "update deployment_logs set organization_id = 'org_x'",
  "a running job was counted, and has a lease owner": "update jobs set state = 'running'",
  "every reference leads to a row": "update deployments set project_id = 'proj_x' where environment = 'staging'",
  "the pages and the indexes of the file are whole": `pragma writable_schema = on;
    update sqlite_schema set sql = replace(sql, 'WHERE status = ''queued''', '') where name = 'deployments_queue';
    pragma writable_schema = reset`,
};

/** A service on a file with work in every state: ended, running, waiting, failing and in flight. */
async function busy(t: TestContext, database: string) {
  const here = await world(t, { database, random: "x" });
  const { service, call, deploy } = here;
  for (const name of ["fine", "down"])
    await call("owner", "POST", "/v1/webhooks", { url: `https://${name}.inbox.test/`, events: ["*"] });
  service.inbox.script("down", Array(1000).fill(500));
  const { id } = await here.project();
  const second = [await deploy(id), await deploy(id), await deploy(id, { environment: "staging" })][1];
  const paint = () =>
    call("owner", "POST", "/v1/generations", { model: "any-image", prompt: "a hill", resolution: "32x32" });
  await paint();
  await call("owner", "POST", "/v1/users/invite", { email: "ada@example.com", role: "viewer" });
  await service.clock.advance("1m");
  assert.equal((await call("owner", "POST", `/v1/deployments/${second.id}/rollback`)).status, 201);
  await paint();
  for (const environment of ["production", "preview", "preview"]) await deploy(id, { environment });
  await hook(here, await connectPreviews(here), pullRequest("opened", { from: "mallory/web" }));
  await service.clock.advance("2s");
  return here;
}

test("every rule of the store holds in a busy service, and detects a violation", async (t) => {
  const file = join(folderOf(t), "svc.db");
  const { service } = await busy(t, file);
  const database = new Database(file);
  t.after(() => database.close());
  assert.deepEqual(violations(database), []);
  assert.deepEqual(await service.invariants(), []);
  assert.notDeepEqual(unfinished(database), []);
  assert.deepEqual(Object.keys(breaks), Object.keys(invariants));
  database.pragma("foreign_keys = OFF");
  database.unsafeMode();
  for (const [rule, sql] of Object.entries(breaks)) {
    database.exec("begin");
    database.exec(sql);
    const wrong = violations(database);
    assert.ok(
      wrong.some((one) => one.startsWith(rule)),
      `${rule}: ${wrong.join("\n")}`,
    );
    database.exec("rollback; pragma writable_schema = reset");
  }
  assert.deepEqual(violations(database), []);
});

test("service.invariants() names the rows that break a rule, in a file and in memory, and ends with its service", async (t) => {
  const database = join(folderOf(t), "svc.db");
  for (const at of [database, ":memory:"]) {
    const { service } = await busy(t, at);
    assert.deepEqual(await service.invariants(), [], at);
    const late = assert.rejects(service.invariants(), /was closed or its state replaced before all rules were checked/);
    await service.close();
    await late;
    await assert.rejects(service.invariants(), /the service is closed; make a new one/);
  }
  const raw = new Database(database);
  raw.exec("delete from jobs where kind = 'deliveries.pump'");
  raw.close();
  const service = await createService({ ...quiet, database });
  t.after(() => service.close());
  const [broken, ...others] = await service.invariants();
  assert.deepEqual(others, []);
  assert.equal(broken?.rule, "a job sends what is pending");
  assert.ok(broken.count > 3 && broken.examples.length === 3);
  assert.match(String(broken.examples[0]?.["id"]), /^dlv_/);
});

test("service.invariants() checks a copy of a large file, and its process keeps its locks", async (t) => {
  const folder = folderOf(t);
  const database = join(folder, "svc.db");
  await (await busy(t, database)).service.close();
  const raw = new Database(database);
  raw.prepare("insert into settings values ('big', zeroblob(?))").run(40 * 1024 * 1024);
  raw.exec("delete from jobs where kind = 'deliveries.pump'");
  raw.close();
  const { service, call } = await world(t, { database });
  const seen = new Set<string | null>();
  const watcher = watch(folder, (_, name) => void seen.add(name));
  const wait = service.invariants();
  assert.equal((await call("owner", "PUT", "/v1/organization", { name: "acme" })).status, 200);
  assert.deepEqual(
    (await wait).map(({ rule }) => rule),
    ["a job sends what is pending"],
  );
  watcher.close();
  assert.ok(seen.has("svc.db.checked"), [...seen].join(", "));
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.includes("checked")),
    [],
  );
  // A process that considers itself the last user of the file removes the log.
  const other = 'const D = require("better-sqlite3"); new D(process.argv[1]).prepare("select * from users").all()';
  assert.equal(spawnSync(process.execPath, ["-e", other, database], { encoding: "utf8" }).stderr, "");
  assert.ok(existsSync(`${database}-wal`));
});

test("doctor --deep says of each rule whether it holds", async (t) => {
  const database = join(folderOf(t), "svc.db");
  const words = ["doctor", "--database", database, "--port", "0", "--json"];
  const found = ({ status, stdout }: { readonly status: number | null; readonly stdout: string }) => {
    const findings = JSON.parse(stdout) as { check: string; ok: boolean; says: string }[];
    return { status, rules: findings.filter(({ check }) => check.startsWith("rule")) };
  };
  const look = async () => found(await runHere([...words, "--deep"]));
  assert.deepEqual(await look(), { status: 0, rules: [] }, "without a database there is nothing to check");
  const { service } = await busy(t, database);
  // Doctor runs in a process of its own: closing the file here would drop the server's locks on it.
  const whole = found(run([...words, "--deep"]));
  assert.deepEqual([whole.status, found(run(words)).rules], [0, []], "beside a running server");
  assert.deepEqual(
    whole.rules.map(({ says }) => says),
    Object.keys(invariants),
  );
  await service.close();
  const raw = new Database(database);
  raw.exec("delete from jobs where kind = 'deliveries.pump'");
  raw.exec("update deliveries set rung = 7");
  raw.close();
  const broken = await look();
  assert.equal(broken.status, 1);
  assert.match(
    broken.rules.filter(({ ok }) => !ok)[1]?.says ?? "",
    /^\d+ rows break the rule that a job sends what is pending: \{"id":"dlv_\w+",.*\}; restore a backup, and report this line$/,
  );
  writeFileSync(database, "no database");
  assert.match((await look()).rules[0]?.says ?? "", /it is not an SQLite database/);
});
