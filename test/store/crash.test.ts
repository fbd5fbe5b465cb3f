import assert from "node:assert/strict";
import { copyFileSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import Database from "better-sqlite3";
import { createService, type Service, simulatedDeployments } from "../../lib/index.ts";
import { createRandom } from "../../lib/kernel/random.ts";
import { isNew } from "../../lib/store/migrate.ts";
import { linesOf, startChild } from "../helpers/child-processes.ts";
import { unfinished, violations } from "../helpers/invariants.ts";
import { isLong } from "../helpers/properties.ts";
import { folderOf } from "../helpers/temporary-store.ts";
import { keyOf, seed } from "../helpers/test-service.ts";

/** The work that the children reported as done, over all rounds. */
interface Acknowledged {
  readonly tried: Set<string>;
  readonly projects: Map<string, string>;
  readonly deployments: Set<string>;
  readonly cancelled: Set<string>;
  readonly removed: Set<string>;
}

const nothingYet = (): Acknowledged => ({
  tried: new Set(),
  projects: new Map(),
  deployments: new Set(),
  cancelled: new Set(),
  removed: new Set(),
});

function note(to: Acknowledged, lines: readonly string[]): void {
  for (const [what, first = "", second = ""] of lines.map((line) => line.split(" "))) {
    if (what === "try") to.tried.add(first);
    if (what === "project") to.projects.set(first, second);
    if (what === "deployment") to.deployments.add(first);
    if (what === "cancelled") to.cancelled.add(first);
    if (what === "removed") to.removed.add(first);
    assert.notEqual(what, "refused", lines.join("\n"));
  }
}

/** A copy of the database files as the crash left them, so that reading changes nothing. */
function copyOf(file: string, round: number): string {
  const folder = join(file, "..", `copy-${round}`);
  mkdirSync(folder);
  for (const end of ["", "-wal", "-journal", ".key"])
    if (existsSync(file + end)) copyFileSync(file + end, join(folder, `svc.db${end}`));
  return join(folder, "svc.db");
}

/** Asserts that everything acknowledged is stored, and nothing is half done. */
function checkStored(database: Database.Database, { projects, deployments, cancelled, removed }: Acknowledged): void {
  assert.deepEqual(violations(database), []);
  const there = new Map(
    (database.prepare("select id, name from projects").all() as { id: string; name: string }[]).map((row) => [
      row.id,
      row.name,
    ]),
  );
  for (const [name, id] of projects) if (there.has(id)) assert.equal(there.get(id), name);
  const events = database.prepare("select event, data from events").all() as { event: string; data: string }[];
  const gone = new Set(
    events.filter(({ event }) => event === "project.deleted").map(({ data }) => JSON.parse(data).project_id),
  );
  for (const id of projects.values()) assert.ok(there.has(id) || gone.has(id), `the project ${id} is lost`);
  for (const id of removed) assert.ok(!there.has(id) && gone.has(id), `the removal of ${id} is lost`);
  const find = database.prepare("select status from deployments where id = ?").pluck();
  const queued = new Set(
    events.filter(({ event }) => event === "deployment.queued").map(({ data }) => JSON.parse(data).deployment_id),
  );
  for (const id of deployments) assert.ok(queued.has(id), `the deployment ${id} is lost`);
  for (const id of cancelled) assert.ok([undefined, "cancelled"].includes(find.get(id) as string | undefined));
}

/** Starts a service on the files of the crash, under a manual clock: nothing runs before the clock moves. */
async function reopen(
  t: TestContext,
  file: string,
): Promise<{ service: Service<string | null>; database: Database.Database }> {
  const service = await createService({
    database: file,
    seed,
    clock: "manual",
    logLevel: "silent",
    rateLimit: 1_000_000,
    deployments: { concurrency: 32, driver: simulatedDeployments(() => ({ durations: { queued: "1s" } })) },
  });
  const database = new Database(file, { readonly: true });
  t.after(async () => {
    database.close();
    await service.close();
  });
  return { service, database };
}

/** Repeats the recent requests for projects with the same idempotency keys. */
async function askAgain(service: Service<string | null>, { tried, projects, removed }: Acknowledged): Promise<void> {
  for (const name of [...tried].slice(-12)) {
    const id = projects.get(name);
    const response = await service.fetch("/v1/projects", {
      method: "POST",
      headers: {
        authorization: `Bearer ${keyOf("owner")}`,
        "content-type": "application/json",
        "idempotency-key": name,
      },
      body: JSON.stringify({ name, region: "eu" }),
    });
    assert.equal(response.status, 201, name);
    if (id === undefined) continue;
    assert.equal(((await response.json()) as { id: string }).id, id, `${name} ${removed.has(id)}`);
    assert.equal(response.headers.get("idempotent-replayed"), "true");
  }
}

/** `owners` are the lease owners of earlier copies; each process has a new name. */
async function stateAfterRestart(
  t: TestContext,
  file: string,
  owners: Set<string>,
  known: Acknowledged,
): Promise<void> {
  const left = new Database(file);
  if (isNew(left)) {
    // Killed before the first commit: nothing was acknowledged, and the next start creates the database.
    left.close();
    assert.equal(known.tried.size, 0);
    return void (await reopen(t, file));
  }
  checkStored(left, known);
  const held = left.prepare("select id, attempt, crashes, lease_owner from jobs where state = 'running'").all() as {
    id: string;
    attempt: number;
    crashes: number;
    lease_owner: string;
  }[];
  const [owner, ...others] = new Set(held.map(({ lease_owner }) => lease_owner));
  assert.deepEqual(others, [], "jobs of two processes run");
  if (owner !== undefined) {
    assert.ok(!owners.has(owner), "a job of a process runs that was killed earlier");
    owners.add(owner);
  }
  left.close();
  const { service, database } = await reopen(t, file);
  const job = database.prepare("select state, attempt, crashes from jobs where id = ?");
  for (const { id, attempt, crashes } of held)
    assert.deepEqual(job.get(id), { state: "waiting", attempt, crashes: crashes + 1 });
  await askAgain(service, known);
  await service.clock.advance("2h");
  assert.deepEqual(unfinished(database), []);
  checkStored(database, known);
}

describe("a killed server", { concurrency: 2 }, () => {
  // Three databases. Several processes write to each in turn, and all are killed.
  const kills = isLong ? 5 : 3;
  for (const lane of ["one", "two", "three"]) {
    test(`acknowledged writes survive a kill at any moment, ${kills} times over: database ${lane}`, async (t) => {
      const random = createRandom(`crash ${lane}`);
      const file = join(folderOf(t), "svc.db");
      const known = nothingYet();
      const owners = new Set<string>();
      for (let round = 0; round < kills; round++) {
        // The first line comes before the database is opened; 150 lines are about 20 projects and their deployments.
        const moment = round === 0 ? 1 : Math.ceil(random.fraction() * 150);
        const lines = await linesOf(await startChild(file, "write"), (_, count) => count >= moment);
        note(known, lines);
        if (existsSync(file)) await stateAfterRestart(t, copyOf(file, round), owners, known);
      }
      assert.ok(known.deployments.size > 20, `${known.deployments.size} deployments were acknowledged`);
    });
  }

  test("a job that crashes the process each time is given up, and concurrent jobs are only delayed", async (t) => {
    const file = join(folderOf(t), "svc.db");
    for (let death = 0; death < 3; death++) {
      const child = await startChild(file, "deadly");
      await linesOf(child, (line) => line.startsWith("refused"));
      assert.equal(child.process.signalCode ?? "SIGKILL", "SIGKILL");
    }
    const left = new Database(file);
    // As if the job had killed six more processes, each as soon as it began.
    const deadly = "select id from deployments where environment = 'deadly'";
    left.exec(`update jobs set crashes = 9, strikes = 6 where json_extract(args, '$.deployment_id') in (${deadly})`);
    left.close();
    const { service, database } = await reopen(t, file);
    await service.clock.advance("2h");
    assert.deepEqual(unfinished(database), []);
    assert.deepEqual(violations(database), []);
    const rows = database.prepare("select environment, status from deployments order by environment").all();
    const failed = database.prepare(
      "select json_extract(data, '$.reason') from events where event = 'deployment.failed'",
    );
    assert.deepEqual(failed.pluck().all(), ["worker_crashed"]);
    assert.deepEqual(rows, [
      { environment: "deadly", status: "failed" },
      { environment: "one", status: "active" },
      { environment: "two", status: "active" },
    ]);
  });
});
