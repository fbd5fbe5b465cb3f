import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import Database from "better-sqlite3";
import { createClient } from "../../lib/client.ts";
import { endSeenBy } from "../helpers/deployments.ts";
import { launch, temporaryFolder } from "../helpers/program.ts";
import { repositories } from "../helpers/repositories.ts";
import { app, askApp, noSandbox, processesWith } from "../helpers/running-apps.ts";
import { until } from "../helpers/until.ts";

type Program = Awaited<ReturnType<typeof launch>>;

const key = "sk_live_demo_owner1";

async function begin(t: TestContext, folder: string, repos: string): Promise<Program> {
  const database = join(folder, "svc.db");
  const words = ["dev", "--port", "0", "--database", database, "--key", key, "--runtime", "process", "--repos", repos];
  return launch(t, [...words, "--apps-port", "0"], folder);
}

const ask = ({ apps_url }: Program) => askApp(new URL(apps_url ?? "").port, "production-web.localhost");

test("A live release comes back after kill -9 and after a stop of the server; nothing is left behind", {
  skip: noSandbox,
}, async (t) => {
  const folder = temporaryFolder(t);
  const repos = repositories(t);
  repos.commit("acme/web", app("one"));
  const first = await begin(t, folder, repos.root);
  const client = createClient({ baseUrl: first.base_url, apiKey: key });
  const { id: project_id } = await client.projects.create({ name: "web", region: "eu-west-1" });
  const order = { project_id, environment: "production", source: { type: "git", repo: "acme/web" } } as const;
  const { id } = await client.deployments.create(order);
  assert.equal((await endSeenBy(client, id)).status, "active");
  assert.equal(await ask(first), "200 one");
  // The kill interrupts this build; the next server runs it again to its end.
  repos.commit("acme/web", { ...app("two"), "svc.json": { build: "sleep 0.3" } });
  const { id: next } = await client.deployments.create(order);
  await first.stop("SIGKILL");

  const second = await begin(t, folder, repos.root);
  assert.equal(await ask(second), "200 one");
  const again = createClient({ baseUrl: second.base_url, apiKey: key });
  assert.equal((await endSeenBy(again, next)).status, "active");
  assert.equal(await ask(second), "200 two");
  assert.equal((await second.stop()).code, 0);
  const release = join(`${folder}/svc.db-apps`, "releases", next, "app");
  assert.ok(existsSync(release));
  assert.deepEqual(processesWith(release), []);

  // As left by a copy from PostgreSQL.
  const database = new Database(join(folder, "svc.db"));
  assert.equal(database.prepare("update apps set runtime_id = 'abcdefghijkl'").run().changes, 1);
  database.close();
  const third = await begin(t, folder, repos.root);
  assert.equal(await ask(third), "200 two");
  assert.deepEqual(readdirSync(join(`${folder}/svc.db-apps`, "releases")).sort(), [id, next].sort());
  assert.equal((await third.stop()).code, 0);

  const fourth = await begin(t, folder, repos.root);
  assert.equal(await ask(fourth), "200 two");
  await createClient({ baseUrl: fourth.base_url, apiKey: key }).projects.delete({ id: project_id });
  assert.match(await ask(fourth), /^404 /);
  await until(
    () => processesWith(release).length === 0,
    () => ask(fourth),
  );
  assert.equal((await fourth.stop()).code, 0);
});
