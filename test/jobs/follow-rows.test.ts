import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import Database from "better-sqlite3";
import type { App, Instance, Runtime } from "../../lib/drivers/deployment/contract.ts";
import type { ChangeFeed } from "../../lib/features/events/change-feed.ts";
import { createRuntimeJobs } from "../../lib/jobs/runtime-jobs.ts";
import { createClock } from "../../lib/kernel/clock.ts";
import { createLog } from "../../lib/kernel/log.ts";
import { createPasswordHashes } from "../../lib/kernel/secrets/password-hash.ts";
import { createRowFollower } from "../../lib/platform/apps/follow-rows.ts";
import { createRegistry } from "../../lib/platform/apps/runtime-leases.ts";
import { createSupervisor, type Live } from "../../lib/platform/apps/supervisor.ts";
import { createProxy } from "../../lib/platform/proxy/proxy.ts";
import type { Connection, Statement } from "../../lib/store/engine.ts";
import { createStore } from "../../lib/store/store.ts";
import { turns } from "../helpers/pauses.ts";
import { openTemporaryStore } from "../helpers/temporary-store.ts";

const key = { organization_id: "org_1", project_id: "proj_1", environment: "production" };

const has = (deployment_id: string): Live => ({ deployment_id, slug: "web", hosts: ["web.localhost"] });

/** The store of a server; `afterReading` runs a function once, right after a query with these words. */
function storeOf(t: TestContext) {
  const { engine, path } = openTemporaryStore(t);
  // A second connection, since reads of the first share a snapshot until the end of the tick.
  const database = new Database(path);
  t.after(() => database.close());
  let reading: { words: string; run: () => void } | undefined;
  const held = (statement: Statement, text: string): Statement => ({
    first: statement.first,
    run: statement.run,
    send: statement.send,
    async all(parameters) {
      const found = await statement.all(parameters);
      if (!reading || !text.includes(reading.words)) return found;
      const { run } = reading;
      reading = undefined;
      run();
      await turns(3);
      return found;
    },
  });
  const connection: Connection = Object.create(engine.connection, {
    statement: { value: (text: string) => held(engine.connection.statement(text), text) },
  });
  return {
    store: createStore(Object.create(engine, { connection: { value: connection } })),
    database,
    afterReading(words: string, run: () => void) {
      reading = { words, run };
    },
  };
}

/** A runtime whose instances do nothing. */
function idleRuntime() {
  const started: string[] = [];
  const stopped: string[] = [];
  /** Releases that a rollout has started. */
  const ready = new Set<string>();
  let end = Promise.resolve();
  const instance = (deployment_id: string): Instance => ({
    deployment_id,
    port: undefined,
    up: async () => true,
    output: () => {},
    async stop() {
      stopped.push(deployment_id);
      await end;
    },
  });
  const runtime: Partial<Runtime> = {
    take: (id) => (ready.delete(id) ? instance(id) : undefined),
    async start({ deployment_id }) {
      started.push(deployment_id);
      return instance(deployment_id);
    },
  };
  return {
    runtime: runtime as Runtime,
    started,
    stopped,
    ready,
    /** Instances finish stopping when this promise resolves. */
    endsWith(promise: Promise<void>) {
      end = promise;
    },
  };
}

/** A server with such a runtime. */
function server(t: TestContext) {
  const { store, database, afterReading } = storeOf(t);
  const { runtime, ready, ...instances } = idleRuntime();
  const clock = createClock("manual@2026-01-01T00:00:00Z");
  const log = createLog("error", (_, message, fields) => assert.fail(`${message}: ${JSON.stringify(fields)}`));
  const live = () => database.prepare("select deployment_id from apps").pluck().get() as string | undefined;
  const appOf = async () => ({ deployment_id: live() }) as App;
  const proxy = createProxy({ behindProxy: false, passwords: createPasswordHashes() });
  const supervisor = createSupervisor({
    ...{ log, runtime, proxy, appOf, output: () => {}, crashed: () => {}, starting: async () => {} },
  });
  const own = { id: "rt_1", names: "process" };
  const jobs = createRuntimeJobs(store);
  const registry = createRegistry({ store, clock, jobs, own, appsUrl: () => "http://localhost:1", tellOthers() {} });
  const feed = { onWake() {} } as unknown as ChangeFeed;
  const onBack = async () => {};
  const ownHostsOf = (slug: string) => [`${slug}.localhost`];
  const rows = createRowFollower({ store, log, feed, registry, supervisor, ownHostsOf, onTaken: onBack });
  rows.onBack(onBack);
  t.after(() => rows.end());
  return {
    ...{ rows, supervisor, afterReading, ...instances },
    runsOn(runtime_id: string) {
      database.prepare("update apps set runtime_id = ?").run(runtime_id);
    },
    /** Writes the row: the deployment is live on this server. */
    commit(deployment_id: string) {
      database.exec(`insert into apps (project_id, environment, organization_id, slug, deployment_id, log_entries, runtime_id)
        values ('proj_1', 'production', 'org_1', 'web', '${deployment_id}', 0, 'rt_1')
        on conflict (project_id, environment) do update set deployment_id = excluded.deployment_id`);
    },
    /** After the commit, the deployment takes over in this process. */
    promote(deployment_id: string) {
      ready.add(deployment_id);
      supervisor.promote(key, has(deployment_id));
    },
    running: () => supervisor.liveIn(key)?.deployment_id,
  };
}

test("a release that goes live while the rows are read stays, and no earlier one comes back", async (t) => {
  const here = server(t);
  here.promote("dep_0");
  // This process has not switched to dep_1 yet; the next look would do so.
  here.commit("dep_1");
  await here.rows.look();
  assert.equal(here.running(), "dep_0");
  here.afterReading('from "app_domains"', () => {
    here.commit("dep_2");
    here.promote("dep_2");
  });
  await here.rows.look();
  await turns(10);
  assert.deepEqual([here.running(), here.started], ["dep_2", []]);
});

test("a release whose switch is late is mended once", async (t) => {
  const here = server(t);
  here.commit("dep_1");
  await here.rows.look();
  await here.rows.look();
  await turns(10);
  here.supervisor.promote(key, has("dep_1"));
  await here.supervisor.resume(key, has("dep_1"));
  await turns(10);
  assert.deepEqual([here.running(), here.started], ["dep_1", ["dep_1"]]);
});

test("a look does not wait for the end of what runs elsewhere now: the lease is renewed meanwhile", async (t) => {
  const here = server(t);
  here.commit("dep_1");
  here.promote("dep_1");
  await here.rows.look();
  here.runsOn("rt_2");
  let stop = () => {};
  here.endsWith(
    new Promise((resolve) => {
      stop = resolve;
    }),
  );
  // How many turns a look takes is not certain; one that waited for the end would never resolve.
  await here.rows.look();
  assert.deepEqual([here.running(), here.stopped], [undefined, ["dep_1"]]);
  stop();
});
