import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { bearer } from "../helpers/headers.ts";
import { launch, run, temporaryFolder } from "../helpers/program.ts";
import { repositories, serveRepositories } from "../helpers/repositories.ts";
import { app, askApp, noSandbox, processesWith } from "../helpers/running-apps.ts";
import { until } from "../helpers/until.ts";
import { emptyDatabase } from "./databases.ts";

const encryptionKey = Buffer.alloc(32, 7).toString("hex");
type Server = Awaited<ReturnType<typeof launch>>;

/** Servers on one database, and a repository that they can fetch from. */
async function service(t: TestContext) {
  const { url: database, ask: sql } = await emptyDatabase(t);
  const folder = temporaryFolder(t);
  const repos = repositories(t);
  const codeHost = await serveRepositories(t, repos.root);
  const env = {
    SVC_ENCRYPTION_KEY: encryptionKey,
    SVC_RATE_LIMIT: "0",
    SVC_CODE_HOST_URL: codeHost,
    SVC_DEPLOYMENTS_ISOLATION: noSandbox ? "none" : "bubblewrap",
  };
  const words = ["start", "--database", database, "--port", "0", "--log-level", "warn"];
  const start = (...more: string[]) => launch(t, [...words, ...more], folder, { env });
  return {
    sql,
    repos,
    folder,
    start,
    /** Starts a server with a runtime in a folder of this name. */
    withRuntime: (name: string) =>
      start("--runtime", "process", "--apps-port", "0", "--apps-folder", join(folder, name)),
    refused: (...more: string[]) => run([...words, ...more], folder, env),
    /** The store's rules that `doctor --deep` reports as broken. */
    brokenRules() {
      const { stdout } = run(["doctor", "--deep", "--json", "--database", database, "--port", "0"], folder, env);
      const rules = (JSON.parse(stdout) as { check: string; ok: boolean }[]).filter(({ check }) => check === "rule");
      assert.ok(rules.length > 0, stdout);
      return rules.filter(({ ok }) => !ok);
    },
  };
}

/** Calls a server with the first key. */
const callsWith = (key: string) => async (server: Server, method: string, path: string, body?: object) => {
  const response = await fetch(server.base_url + path, {
    method,
    headers: { ...bearer(key), ...(body && { "content-type": "application/json" }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text ? JSON.parse(text) : undefined };
};

/** Sends a request to an app at its URL, or under another host name. */
const ask = (url: string, name = new URL(url).hostname) => {
  const { port, pathname } = new URL(url);
  return askApp(port, name, pathname);
};

/** Polls until an app answers with a text: a server switches to a release shortly after the visible commit. */
async function answers(url: string, text: string) {
  let answer = "";
  const look = async () => {
    answer = await ask(url).catch(String);
  };
  await until(() => answer === text, look).catch(() => assert.equal(answer, text));
}

const git = { type: "git", repo: "acme/web" };

test("one of three servers has a runtime: deployments of all go live there, and the others restart, roll back and delete", async (t) => {
  const { repos, start, withRuntime, brokenRules } = await service(t);
  const one = await start();
  const call = callsWith(one.api_key ?? "");
  const [two, real] = await Promise.all([start(), withRuntime("apps")]);
  const servers = [one, two, real];
  const { id: project_id } = (await call(one, "POST", "/projects", { name: "web", region: "eu-west-1" })).body;
  const path = `/projects/${project_id}/environments/production`;
  const order = { project_id, environment: "production", source: git };
  const ended = async (id: string) => (await call(one, "GET", `/deployments/${id}?wait=60`)).body;
  const happens = (holds: () => unknown) => until(holds, () => call(one, "GET", "/me"));

  let url = "";
  for (const [i, server] of servers.entries()) {
    repos.commit("acme/web", app(`release ${i}`));
    const { id } = (await call(server, "POST", "/deployments", order)).body;
    const { status, url: found } = await ended(id);
    const log = (await call(two, "GET", `/deployments/${id}/logs`)).body;
    assert.equal(status, "active", JSON.stringify(log));
    assert.doesNotMatch(JSON.stringify(log), /simulated/);
    url = found;
    await answers(url, `200 release ${i}`);
    for (const other of servers) {
      assert.equal((await call(other, "GET", `/deployments/${id}`)).body.url, url);
      assert.equal((await call(other, "GET", `/projects/${project_id}/environments`)).body.data[0].url, url);
      const listed = (await call(other, "GET", "/deployments")).body.data;
      assert.deepEqual(
        listed.map((shown: { url?: string }) => shown.url),
        [url, ...Array(i).fill(undefined)],
      );
    }
  }
  const image = { ...order, source: { type: "image", image_url: "registry.acme.test/web:1" } };
  assert.equal((await call(one, "POST", "/deployments", image)).body.error.code, "validation_failed");

  await call(two, "PUT", path, { variables: { COLOUR: "blue" }, domains: ["www.acme.test"] });
  assert.equal((await call(one, "POST", `${path}/restart`)).status, 200);
  assert.match(await ask(`${url}/env`), /"COLOUR":"blue"/);
  assert.equal(await ask(url, "www.acme.test"), "200 release 2");
  const { body: newest } = await call(two, "GET", "/deployments?per_page=1");
  const back = (await call(two, "POST", `/deployments/${newest.data[0].id}/rollback`)).body;
  assert.equal((await ended(back.id)).status, "active");
  await answers(url, "200 release 1");

  // A build cancelled at another server ends with all its processes; so do the processes of a deleted environment.
  const mark = `sleep 4${process.pid}`;
  repos.commit("acme/web", { "svc.json": { build: mark, start: "x" } });
  const { id: cancelled } = (await call(one, "POST", "/deployments", order)).body;
  await happens(() => processesWith(mark).length !== 0);
  assert.deepEqual(brokenRules(), []);
  assert.equal((await call(two, "POST", `/deployments/${cancelled}/cancel`)).status, 200);
  await happens(() => processesWith(mark).length === 0);
  assert.equal((await call(one, "DELETE", path)).status, 204);
  assert.equal((await ended(back.id)).url, undefined);
  await happens(async () => (await ask(url)).startsWith("404 "));
  for (const server of servers) assert.equal((await server.stop()).code, 0);
  assert.deepEqual(servers.map((server) => server.errors()).join(""), "");
});

/** A project with a live release, on the runtime of one server; another server has no runtime. */
async function liveApp(t: TestContext) {
  const here = await service(t);
  here.repos.commit("acme/web", app("one"));
  const plain = await here.start();
  const call = callsWith(plain.api_key ?? "");
  const real = await here.withRuntime("apps");
  const { id: project_id } = (await call(plain, "POST", "/projects", { name: "web", region: "eu-west-1" })).body;
  const order = { project_id, environment: "production", source: git };
  const deploy = async () => (await call(plain, "POST", "/deployments", order)).body.id;
  const ended = async (id: string) => (await call(plain, "GET", `/deployments/${id}?wait=60`)).body;
  const first = await ended(await deploy());
  assert.equal(first.status, "active");
  return { ...here, plain, real, call, project_id, deploy, ended, url: first.url as string, id: first.id as string };
}

test("what a killed server ran and built goes on when it is back; deployments wait while it is stopped", async (t) => {
  const { repos, plain, real, call, project_id, deploy, ended, withRuntime, sql, url } = await liveApp(t);
  const happens = (holds: () => unknown) => until(holds, () => call(plain, "GET", "/me"));
  await answers(url, "200 one");
  // The build takes long until its server is killed, and no time afterwards.
  const takes = (seconds: string) =>
    call(plain, "PUT", `/projects/${project_id}/environments/production`, { variables: { BUILD_SECONDS: seconds } });
  repos.commit("acme/web", { ...app("two"), "svc.json": { build: 'sleep "$BUILD_SECONDS"' } });
  assert.equal((await takes("60")).status, 200);
  const interrupted = await deploy();
  const log = await fetch(`${plain.base_url}/deployments/${interrupted}/logs?follow=true`, {
    headers: bearer(plain.api_key ?? ""),
  });
  for await (const chunk of log.body as unknown as AsyncIterable<Uint8Array>)
    if (/sleep/.test(Buffer.from(chunk).toString())) break;
  await real.stop("SIGKILL");
  await assert.rejects(ask(url), /ECONNREFUSED/);
  assert.equal((await call(plain, "GET", `/deployments/${interrupted}`)).body.status, "building");
  assert.equal((await takes("0")).status, 200);

  const back = await withRuntime("apps");
  const gone = await ended(interrupted);
  assert.equal(gone.status, "active");
  await answers(gone.url, "200 two");
  assert.equal((await back.stop()).code, 0);

  repos.commit("acme/web", app("three"));
  const waiting = await deploy();
  const starts = () => sql("select id from jobs where kind = 'deployments.turns'");
  await happens(async () => (await starts()).length === 0);
  assert.equal((await call(plain, "GET", `/deployments/${waiting}`)).body.status, "queued");
  const restart = await call(plain, "POST", `/projects/${project_id}/environments/production/restart`);
  assert.deepEqual([restart.status, restart.body.error.code], [503, "unavailable"]);
  const ready = async () => (await fetch(`${plain.url}/readyz`)).json();
  const down = { status: "degraded", reason: "no server with a runtime is up, so deployments wait" };
  // The server without a runtime looks at the others once it hears of the stop.
  await happens(async () => isDeepStrictEqual(await ready(), down));

  const again = await withRuntime("apps");
  const done = await ended(waiting);
  assert.equal(done.status, "active");
  await answers(done.url, "200 three");
  assert.deepEqual(await ready(), { status: "ok" });
  assert.match(
    plain.errors(),
    /no server with a runtime is up, so deployments wait[\s\S]*a server with a runtime is up again/,
  );
  assert.equal((await again.stop()).code, 0);
});

test("another runtime takes over what ran on one that is gone, and builds it again from its commit", async (t) => {
  const { repos, plain, real, call, sql, start, refused, withRuntime, folder, deploy, ended, url, id } =
    await liveApp(t);
  const other = await withRuntime("other");
  const shared = refused("--runtime", "process", "--apps-port", "0", "--apps-folder", join(folder, "apps"));
  assert.match(shared.stderr, /apps-folder .*another svc-server is running on it/);
  assert.equal(shared.status, 2);
  const engine = refused("--runtime", "process,engine", "--apps-port", "0", "--apps-folder", join(folder, "third"));
  assert.match(engine.stderr, /runs deployments with the runtime process; start this one with --runtime process too/);
  assert.notEqual(engine.status, 0);
  const without = refused("--runtime", "process", "--apps-port", "0");
  assert.match(without.stderr, /option apps.folder must name a folder of this machine .*--apps-folder/);

  // The branch gets a new commit; the live release must stay the same.
  repos.commit("acme/web", app("two"));
  await real.stop("SIGKILL");
  // Simulates a minute: the leases have expired.
  await sql("update runtimes set lease_since = '2026-01-01T00:00:00.000Z'");
  await sql("update runtimes set lease_until = '2026-01-01T00:00:00.000Z' where id in (select runtime_id from apps)");
  const notify = () => sql(`select pg_notify('svc_server', 'test {"kind":"wake","name":"runtimes"}')`);
  const liveUrl = async () => (await call(plain, "GET", `/deployments/${id}`)).body.url;
  let moved: string | undefined = url;
  await until(
    () => moved !== undefined && moved !== url,
    async () => {
      await notify();
      moved = await liveUrl();
    },
  );
  assert.equal(new URL(moved).port, new URL(other.apps_url ?? "").port);
  await answers(moved, "200 one");

  // The server that is back no longer runs the app. The next deployment goes to the server that does.
  const back = await withRuntime("apps");
  const there = (back.apps_url ?? "").replace("//", "//production-web.");
  assert.equal(await ask(there), `421 This app runs on another server: ${moved}\n`);
  assert.match(await ask(there, "unknown.localhost"), /^404 /);
  const next = await ended(await deploy());
  assert.deepEqual([next.status, next.url], ["active", moved]);
  await answers(moved, "200 two");

  // Deployments are simulated again only if a server asks for it and no runtime is up.
  await back.stop();
  await other.stop();
  const simulated = await start("--runtime", "simulated");
  const { id: last } = (await call(simulated, "POST", "/deployments", { ...next, url: undefined })).body;
  assert.equal((await ended(last)).status, "active");
  assert.match(JSON.stringify((await call(plain, "GET", `/deployments/${last}/logs`)).body), /simulated/);
});
