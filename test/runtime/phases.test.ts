import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createClient } from "../../lib/client.ts";
import { blocker, endSeenBy } from "../helpers/deployments.ts";
import { launch, temporaryFolder } from "../helpers/program.ts";
import { type Files, repositories, type Serving, serveRepositories } from "../helpers/repositories.ts";
import { app, noSandbox, processesOf, runtimeWorld, server } from "../helpers/running-apps.ts";
import { expect } from "../helpers/test-service.ts";
import { until } from "../helpers/until.ts";

const isLong = process.env["TEST_LONG"] !== undefined;
const host = "production-web.localhost";
const source = { type: "git", repo: "acme/web" } as const;
const site: Files = { "index.html": "site" };

/** A repository that stays in a phase, the log line of that phase, and the request that its code host holds. */
interface Phase {
  readonly name: string;
  readonly files: (url: string) => Files;
  readonly line: RegExp;
  readonly held: RegExp;
}
const hold = (path: string, then: string) => (url: string) => `fetch("${new URL(path, url)}").then(() => { ${then} })`;
const phases: readonly Phase[] = [
  { name: "looking up the commit", files: () => site, line: /^Fetching/, held: /info\/refs$/ },
  { name: "fetching", files: () => site, line: /^Fetching/, held: /git-upload-pack$/ },
  {
    name: "building",
    files: (url) => ({ ...site, "svc.json": { build: "node build.js" }, "build.js": hold("/build", "")(url) }),
    line: /^Building/,
    held: /^\/build$/,
  },
  {
    name: "starting",
    files: (url) => ({ "svc.json": { start: "node server.js" }, "server.js": hold("/start", server("late"))(url) }),
    line: /^Starting/,
    held: /^\/start$/,
  },
];

/** A code host, and its commits. */
async function codeHost(t: TestContext) {
  const repos = repositories(t);
  const serving: Serving = {};
  const url = await serveRepositories(t, repos.root, serving);
  repos.commit("acme/web", app("one"));
  let commits = 0;
  return {
    url,
    /** Commits a repository that stays in the phase; resolves once the phase is reached. */
    enter({ files, held }: Phase): Promise<void> {
      commits += 1;
      repos.git("acme/web", "rm", "--quiet", "-r", ".");
      repos.commit("acme/web", { ...files(url), number: String(commits) });
      const reached = blocker();
      serving.hold = (path) => {
        if (!held.test(path)) return false;
        reached.open();
        return true;
      };
      return reached.passed;
    },
    /** Lets held requests go on. */
    release() {
      serving.hold = undefined;
    },
  };
}

test("In each phase a deployment ends with its cancel or its project, and leaves nothing", async (t) => {
  const { url, enter, release } = await codeHost(t);
  const folder = temporaryFolder(t);
  const deployments = { reach: [new URL(url).host] };
  const here = await runtimeWorld(t, { database: join(folder, "svc.db"), codeHost: { url }, deployments });
  const { id } = await here.project("web");
  const first = await here.release(id);
  assert.equal(first.status, "active");
  const stored = (kind: string) => readdirSync(join(folder, "svc.db-apps", kind)).sort();
  const begin = async (project: string, phase: Phase): Promise<string> => {
    const reached = enter(phase);
    const { id: deployment } = await here.deploy(project, { source });
    await reached;
    await here.logged(deployment, phase.line);
    return deployment;
  };
  const cancel = (deployment: string) => here.call("developer", "POST", `/v1/deployments/${deployment}/cancel`);
  const isGone = (deployment: string) =>
    processesOf(deployment).length === 0 && !stored("releases").includes(deployment);

  for (const phase of phases) {
    const running = await begin(id, phase);
    const { id: waiting } = await here.deploy(id, { source });
    // Archiving a project does not stop work that has begun.
    for (const move of ["archive", "unarchive"])
      assert.ok((await here.call("owner", "POST", `/v1/projects/${id}/${move}`)).status < 300);
    assert.equal((await cancel(waiting)).status, 200);
    assert.equal((await cancel(running)).status, phase.name === "starting" ? 409 : 200, phase.name);
    assert.equal(await here.ask(host), "200 one");
    if (phase.name === "starting") break;
    await until(
      () => isGone(running),
      () => here.ask(host),
    );
  }
  // The last app is still starting.
  expect(await here.call("owner", "DELETE", `/v1/projects/${id}`), 204);
  assert.match(await here.ask(host), /^404 /);
  await until(
    () => stored("releases").length + stored("cache").length === 0,
    () => here.ask(host),
  );

  for (const phase of phases.slice(0, isLong ? 3 : 1)) {
    const { id: other } = await here.project("other");
    const running = await begin(other, phase);
    expect(await here.call("owner", "DELETE", `/v1/projects/${other}`), 204);
    await until(
      () => !(!isGone(running) || stored("cache").length > 0),
      () => here.ask(host),
    );
  }
  release();
  const { id: last } = await here.project("web");
  assert.equal((await here.release(last)).status, "active");
});

test("In each phase a server is killed or stopped, and the next one brings the deployment to its end", {
  skip: noSandbox || (!isLong && "the long form only: TEST_LONG=1"),
}, async (t) => {
  const key = "sk_live_demo_owner1";
  for (const signal of ["SIGKILL", "SIGTERM"] as const)
    for (const phase of phases) {
      const { url, enter, release } = await codeHost(t);
      const folder = temporaryFolder(t);
      const words = ["dev", "--port", "0", "--apps-port", "0", "--database", "svc.db", "--runtime", "process"];
      const begin = () =>
        launch(t, [...words, "--key", key], folder, {
          env: { SVC_CODE_HOST_URL: url, SVC_DEPLOYMENTS_REACH: new URL(url).host },
        });
      const before = await begin();
      const client = createClient({ baseUrl: before.base_url, apiKey: key });
      const { id: project_id } = await client.projects.create({ name: "web", region: "eu-west-1" });
      const reached = enter(phase);
      const { id } = await client.deployments.create({ project_id, environment: "production", source });
      await reached;
      await before.stop(signal);
      release();
      const after = await begin();
      const again = createClient({ baseUrl: after.base_url, apiKey: key });
      assert.equal((await endSeenBy(again, id)).status, "active", `${signal} while ${phase.name}`);
      assert.deepEqual(readdirSync(join(folder, "svc.db-apps/releases")), [id]);
      assert.equal((await after.stop()).code, 0);
      assert.deepEqual(processesOf(id), []);
    }
});
