import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createClient } from "../../lib/client.ts";
import { endSeenBy } from "../helpers/deployments.ts";
import { launch, temporaryFolder } from "../helpers/program.ts";
import { repositories } from "../helpers/repositories.ts";
import { askApp, noSandbox } from "../helpers/running-apps.ts";
import { firstOf } from "../helpers/until.ts";

const key = "sk_live_demo_owner1";
const names = ["one", "two", "three"] as const;
const slow_ms = 300;

/** A program that listens only after a while, and answers with its start time. */
const slow = `const began = Date.now();
setTimeout(() => require("node:http").createServer((_, response) => response.end(String(began)))
  .listen(process.env.PORT, process.env.HOST), ${slow_ms});`;

async function begin(t: TestContext, folder: string, repos: string, ...words: string[]) {
  const database = join(folder, "svc.db");
  const args = ["dev", "--port", "0", "--apps-port", "0", "--database", database, "--key", key, "--repos", repos];
  const program = await launch(t, [...args, "--runtime", "process", ...words], folder);
  const ask = (name: string) => askApp(new URL(program.apps_url ?? "").port, `production-${name}.localhost`);
  return {
    ...program,
    ask,
    client: createClient({ baseUrl: program.base_url, apiKey: key }),
    /** The start time of each app, earliest first. */
    async starts(): Promise<(readonly [name: string, at: number])[]> {
      const all = await Promise.all(
        names.map((name) =>
          firstOf(async () => {
            const answer = await ask(name);
            return answer.startsWith("200 ") ? ([name, Number(answer.slice(4))] as const) : undefined;
          }),
        ),
      );
      return all.sort(([, one], [, other]) => one - other);
    },
  };
}

const gaps = (starts: readonly (readonly [string, number])[]) =>
  starts.slice(1).map(([, at], i) => at - (starts[i]?.[1] ?? 0));

test("After a crash apps come back in turn, the one that was started last at the end, and each time with a longer wait", {
  skip: noSandbox,
}, async (t) => {
  const folder = temporaryFolder(t);
  const repos = repositories(t);
  repos.commit("acme/web", { "svc.json": { start: "node server.js" }, "server.js": slow });
  const first = await begin(t, folder, repos.root);
  const projects = new Map<string, string>();
  for (const name of names) {
    const { id: project_id } = await first.client.projects.create({ name, region: "eu-west-1" });
    projects.set(name, project_id);
    const source = { type: "git", repo: "acme/web" } as const;
    const { id } = await first.client.deployments.create({ project_id, environment: "production", source });
    assert.equal((await endSeenBy(first.client, id)).status, "active");
  }
  await first.client.environments.restart({ id: projects.get("one") ?? "", name: "production" });
  await first.stop("SIGKILL");

  const second = await begin(t, folder, repos.root);
  const afterOne = await second.starts();
  assert.match(second.errors(), /apps start one after the other/);
  assert.deepEqual(
    afterOne.map(([name]) => name),
    ["two", "three", "one"],
  );
  for (const gap of gaps(afterOne)) assert.ok(gap >= slow_ms, `${gap}`);
  await second.stop("SIGKILL");

  const third = await begin(t, folder, repos.root);
  const afterTwo = await third.starts();
  assert.deepEqual(
    afterTwo.map(([name]) => name),
    ["two", "three", "one"],
  );
  for (const gap of gaps(afterTwo)) assert.ok(gap >= slow_ms + 1_000, `${gap}`);
  await third.stop("SIGKILL");

  // `--apps stopped`: only apps that a call asks for start.
  const fourth = await begin(t, folder, repos.root, "--apps", "stopped");
  for (const name of names) assert.match(await fourth.ask(name), /^503 /);
  await fourth.client.environments.restart({ id: projects.get("two") ?? "", name: "production" });
  assert.match(await fourth.ask("two"), /^200 /);
  assert.match(await fourth.ask("one"), /^503 /);
  assert.match(fourth.errors(), /apps are stopped \(--apps stopped\)/);
  assert.equal((await fourth.stop()).code, 0);

  // The last server stopped cleanly, so the next one does not stagger the starts.
  const fifth = await begin(t, folder, repos.root);
  await fifth.starts();
  assert.doesNotMatch(fifth.errors(), /apps start one after the other/);
  assert.equal((await fifth.stop()).code, 0);
});
