import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createClient } from "../../lib/client.ts";
import { endSeenBy } from "../helpers/deployments.ts";
import { needs } from "../helpers/obeying-app.ts";
import { launch, temporaryFolder } from "../helpers/program.ts";
import { repositories } from "../helpers/repositories.ts";
import { askApp } from "../helpers/running-apps.ts";

/** Starts a server whose descriptors lead to a secret file; returns what its app can read from them. */
async function inherited(t: TestContext, descriptors: readonly number[], ...more: string[]): Promise<string> {
  const folder = temporaryFolder(t);
  const secret = join(folder, "secret");
  writeFileSync(secret, "secret of the machine\n");
  const repos = repositories(t);
  // Perl opens no files of its own under these numbers.
  const reading = descriptors.map((fd) => `print readline($f) if open($f, "<&=", ${fd});`).join(" ");
  const start = `GOT="$(perl -e '${reading}')"; export GOT; exec node server.js`;
  const answering = `require("node:http").createServer((_, answer) => answer.end(process.env.GOT)).listen(process.env.PORT, "127.0.0.1");`;
  repos.commit("acme/web", { "svc.json": { start }, "server.js": answering });
  const key = "sk_live_demo_owner1";
  const words = ["dev", "--port", "0", "--apps-port", "0", "--key", key, "--runtime", "process", "--repos", repos.root];
  const opened = descriptors.map((fd) => `${fd}< ${secret}`).join(" ");
  const server = await launch(t, [...words, ...more], folder, {
    limits: `-c 0; exec bash -c 'exec ${opened}; exec "$@"' bash "$@"`,
  });
  const client = createClient({ baseUrl: server.base_url, apiKey: key });
  const { id: project_id } = await client.projects.create({ name: "web", region: "eu-west-1" });
  const source = { type: "git", repo: "acme/web" } as const;
  const { id } = await client.deployments.create({ project_id, environment: "production", source });
  assert.equal((await endSeenBy(client, id)).status, "active");
  const answer = await askApp(new URL(server.apps_url ?? "").port, "production-web.localhost");
  assert.equal((await server.stop()).code, 0);
  return answer;
}

test("An app gets no descriptor with which its server was started", needs("users"), async (t) => {
  assert.equal(await inherited(t, [3, 20]), "200 ");
});

test("An app without isolation gets no descriptor with which its server was started", async (t) => {
  assert.equal(await inherited(t, [3, 20], "--isolation", "none"), "200 ");
});
