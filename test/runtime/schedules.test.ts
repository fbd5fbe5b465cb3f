import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import Database from "better-sqlite3";
import type { Options } from "../../lib/index.ts";
import { runScheduled } from "../../lib/platform/runtime/workers.ts";
import { temporaryFolder } from "../helpers/program.ts";
import { app, processesWith, runtimeWorld, server } from "../helpers/running-apps.ts";
import { expect } from "../helpers/test-service.ts";
import { firstOf, until } from "../helpers/until.ts";

type Run = Record<"id" | "name" | "status" | "started_at", string> & {
  exit_code: number | null;
  ended_at: string | null;
};
const scheduled = (schedules: unknown) => ({ ...app("one"), "svc.json": { schedules } });

/** Deploys, then restarts the service at a time when every schedule has missed runs. */
async function missed(t: TestContext, schedules: unknown, again: Options = {}) {
  const database = join(temporaryFolder(t), "svc.db");
  const before = await runtimeWorld(t, { database });
  const { id } = await before.project("web");
  before.repos.commit("acme/web", scheduled(schedules));
  const { status, id: deployment } = await before.release(id);
  assert.equal(status, "active", JSON.stringify(await before.messages(deployment)));
  const path = `/v1/projects/${id}/environments/production`;
  assert.deepEqual(expect(await before.call("viewer", "GET", `${path}/runs`), 200).data, []);
  const hook = { url: "https://failed.inbox.test/in", events: ["schedule.failed"] };
  expect(await before.call("owner", "POST", "/v1/webhooks", hook), 201);
  const chat = { type: "chat", config: { webhook_url: "https://chat.inbox.test/in" } };
  expect(await before.call("owner", "POST", "/v1/integrations", chat), 201);
  await before.service.close();
  const file = new Database(database);
  file.prepare("update schedules set next_at = '2026-01-01T00:00:00.000Z'").run();
  file.prepare("update jobs set run_at = '2026-01-01T00:00:00.000Z' where kind like 'apps.schedule%'").run();
  file.close();
  const repos = before.repos;
  const here = await runtimeWorld(t, { database, codeHost: { repos: repos.root }, ...again });
  /** The runs, once all have ended. */
  const runs = (count: number): Promise<Run[]> =>
    firstOf(async () => {
      const { data } = expect(await here.call("viewer", "GET", `${path}/runs`), 200);
      return data.length === count && data.every(({ status }: Run) => status !== "running") ? data : undefined;
    });
  return { here, id, runs, repos, database, path };
}

test("A missed run comes once after the start, in the live release; a failed one is an event", async (t) => {
  const { here, id, runs } = await missed(t, [
    { name: "tick", cron: "0 0 1 1 *", command: "echo ticked in $SVC_ENVIRONMENT; echo x >> $DATA_DIR/ticks" },
    { name: "broken", cron: "0 1 1 1 *", command: "no-such-command" },
    { name: "late", cron: "0 2 1 1 *", command: "trap '' TERM; while :; do sleep 1; done", timeout: "1s" },
  ]);
  await here.printed(id, /^\[tick\] ticked in production$/);
  await here.printed(id, /^\[late\] The run did not end within its timeout of 1 s$/);
  await here.printed(
    id,
    /^\[broken\] The run ended with the exit code 127: the command was not found: no-such-command$/,
  );
  const all = await runs(3);
  const found = all.map(({ name, status, exit_code }: Run) => [name, status, exit_code]);
  assert.deepEqual(found.sort(), [
    ["broken", "failed", 127],
    ["late", "failed", null],
    ["tick", "succeeded", 0],
  ]);
  // biome-ignore lint/suspicious/noExplicitAny: a test may assert any field
  const inbox = async (endpoint: string): Promise<any[]> => {
    const next = async () => JSON.parse((await here.service.webhooks.waitFor("*", { endpoint })).body);
    return [await next(), await next()];
  };
  const reasons: Record<string, string> = {
    broken: "The run ended with the exit code 127: the command was not found: no-such-command",
    late: "The run did not end within its timeout of 1 s",
  };
  const told = (await inbox("failed")).map(({ event, data }) => ({ event, ...data }));
  assert.deepEqual(
    told.sort((a, b) => a.schedule.localeCompare(b.schedule)),
    ["broken", "late"].map((schedule) => ({
      event: "schedule.failed",
      run_id: all.find(({ name }) => name === schedule)?.id,
      ...{ project_id: id, environment: "production", schedule },
      exit_code: schedule === "broken" ? 127 : null,
      reason: reasons[schedule],
    })),
  );
  const said = (await inbox("chat")).map(({ text }) => text);
  assert.deepEqual(said.sort(), [
    `⏰ *web*: the schedule *broken* of *production* failed: ${reasons.broken}`,
    `⏰ *web*: the schedule *late* of *production* failed: ${reasons.late}`,
  ]);
  const { data } = expect(await here.call("owner", "GET", `/v1/projects/${id}/environments`), 200);
  assert.deepEqual(
    data[0].schedules.map(({ name, next_at }: { name: string; next_at: string }) => [name, next_at.slice(5)]),
    [
      ["broken", "01-01T01:00:00.000Z"],
      ["late", "01-01T02:00:00.000Z"],
      ["tick", "01-01T00:00:00.000Z"],
    ],
  );
});

/** Other tests may run on this machine. */
const mark = `stubborn${process.pid}`;
/** Ignores signals, and runs until `/data/go` exists. */
const stubborn = {
  name: "stubborn",
  cron: "0 0 1 1 *",
  command:
    `: ${mark};` +
    " trap '' TERM; echo begins; until [ -e $DATA_DIR/go ]; do echo x >> $DATA_DIR/xs; sleep 0.05; done; echo e >> $DATA_DIR/ends; echo end $(wc -l < $DATA_DIR/ends)",
};

test("A run goes on over a switch of releases, and the next of its schedule waits for its end", async (t) => {
  const { here, id, runs, repos, database, path } = await missed(t, [stubborn]);
  await here.printed(id, /^\[stubborn\] begins$/);
  repos.commit("acme/web", { ...scheduled([stubborn]), "server.js": server("two") });
  assert.equal((await here.release(id)).status, "active");
  const file = new Database(database);
  file.prepare("update schedules set next_at = '2026-01-01T00:00:00.000Z'").run();
  file.close();
  const { data } = expect(await here.call("viewer", "GET", `${path}/runs`), 200);
  assert.deepEqual(
    data.map(({ status }: Run) => status),
    ["running"],
  );
  writeFileSync(join(`${database}-data`, id, "of-production", "go"), "");
  await here.printed(id, /^\[stubborn\] end 2$/);
  const [second, first] = await runs(2);
  assert.deepEqual([first?.status, second?.status], ["succeeded", "succeeded"]);
  assert.ok(first?.ended_at && second && first.ended_at <= second.started_at, JSON.stringify([first, second]));
});

test("An environment that is deleted while a schedule runs ends the run, and its data goes", async (t) => {
  const { here, id, database, path } = await missed(t, [stubborn]);
  await here.printed(id, /^\[stubborn\] begins$/);
  const folder = join(`${database}-data`, id);
  assert.ok(existsSync(join(folder, "of-production")));
  expect(await here.call("owner", "DELETE", path), 204);
  await until(
    () => readdirSync(folder).length === 0,
    () => here.ask("production-web.localhost"),
  );
  assert.deepEqual(processesWith(mark), []);
});

test("A start with stopped apps runs no schedule", async (t) => {
  const { here, path } = await missed(t, [stubborn], { deployments: { apps: "stopped" } });
  await here.service.settle();
  assert.deepEqual(expect(await here.call("viewer", "GET", `${path}/runs`), 200).data, []);
});

test("A wrong schedule is refused at the deployment, with what would be right", async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  for (const [schedule, reason] of [
    [{ name: "a", cron: "0 0 30 2 *", command: "true" }, /schedules\.0\.cron never fires: no such day exists/],
    [{ name: "a", cron: "soon", command: "true" }, /schedules\.0\.cron must be five cron fields/],
    [{ name: "a", cron: "* * * * * *", command: "true" }, /schedules\.0\.cron must be five cron fields/],
    [{ name: "a/b", cron: "* * * * *", command: "true" }, /schedules\.0\.name must be 1 to 64 of/],
    [
      { name: "a", cron: "* * * * *", command: "true", timeout: "2d" },
      /schedules\.0\.timeout must be between 1s and 24h/,
    ],
    [{ name: "a", cron: "* * * * *" }, /schedules\.0\.command/],
  ] as const) {
    here.repos.commit("acme/web", scheduled([schedule]));
    const { status, id: deployment } = await here.release(id);
    assert.equal(status, "failed");
    assert.match(String(await here.messages(deployment)), reason);
  }
  const twice = { name: "a", cron: "* * * * *", command: "true" };
  here.repos.commit("acme/web", scheduled([twice, twice]));
  const { id: deployment } = await here.release(id);
  assert.match(String(await here.messages(deployment)), /schedules must not have two schedules of one name/);
});

// To look for the next date of each took the whole server for half a minute.
test("Schedules beyond the most are not looked at, and settings have a size", { timeout: 20_000 }, async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  const never = { name: "a", cron: "0 0 30 2 *", command: "true" };
  for (const [count, reason] of [
    [4_000, /schedules must have at most 50 schedules/],
    [19_000, /svc\.json is larger than 256 KiB/],
  ] as const) {
    here.repos.commit("acme/web", scheduled(Array(count).fill(never)));
    const { status, id: deployment } = await here.release(id);
    assert.equal(status, "failed");
    assert.match(String(await here.messages(deployment)), reason);
  }
});

test("An organization has at most ten runs at once, and the log keeps each line of them in its order", async (t) => {
  const wait =
    'echo begin >> "$DATA_DIR/runs"; until [ -e "$DATA_DIR/go" ]; do sleep 0.05; done; echo end >> "$DATA_DIR/runs"';
  const waiting = Array.from({ length: 12 }, (_, i) => ({ name: `wait${i}`, cron: "0 0 1 1 *", command: wait }));
  const printing = { name: "print", cron: "0 0 1 1 *", command: "seq 3000" };
  const { here, id, runs, database, path } = await missed(t, [...waiting, printing], { rateLimit: 1_000_000 });
  const data = join(`${database}-data`, id, "of-production");
  const noted = () => {
    const file = join(data, "runs");
    return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
  };
  await until(
    () => noted().length >= 10,
    () => here.call("viewer", "GET", "/v1/me"),
  );
  writeFileSync(join(data, "go"), "");
  assert.ok((await runs(13)).every(({ status }) => status === "succeeded"));
  let now = 0;
  const most = Math.max(...noted().map((line) => (line === "begin" ? ++now : --now)));
  assert.ok(most <= 10, `${most} at once`);
  const lines = await firstOf(async () => {
    const { data: log } = expect(await here.call("viewer", "GET", `${path}/logs`), 200);
    const printed = log.flatMap(({ message }: { message: string }) => /^\[print\] (\d+)$/.exec(message)?.[1] ?? []);
    return printed.length >= 3000 ? printed : undefined;
  });
  assert.deepEqual(
    lines,
    Array.from({ length: 3000 }, (_, i) => String(i + 1)),
  );
});

test("A scheduled command that was stopped has not succeeded, even if it ends with the exit code 0", async () => {
  const how = { code: 0, signal: null, reason: "wrote more than deployments.scratch" };
  const child = { pid: undefined, ended: Promise.resolve(how), ending: how, stop: async () => how, kill: () => {} };
  const schedule = { name: "nightly", cron: "0 0 * * *", command: "true", timeout_s: 60 };
  const end = await runScheduled(
    schedule,
    () => {},
    [],
    () => child,
  );
  assert.deepEqual(end, { exit_code: 0, reason: "wrote more than deployments.scratch" });
});
