import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { request, type ServerResponse } from "node:http";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createClient } from "../../lib/client.ts";
import { containerEngine, kinds, lacking } from "../helpers/container-engine.ts";
import { endSeenBy } from "../helpers/deployments.ts";
import { answering, registry } from "../helpers/image-registry.ts";
import { launch, temporaryFolder } from "../helpers/program.ts";
import { isLong } from "../helpers/properties.ts";
import { repositories } from "../helpers/repositories.ts";
import { firstOf, until } from "../helpers/until.ts";

const key = "sk_live_demo_owner1";

const begin = (t: TestContext, folder: string, more: readonly string[] = []) => {
  const words = ["dev", "--port", "0", "--database", join(folder, "svc.db"), "--key", key, "--runtime", "engine"];
  return launch(t, [...words, "--apps-port", "0", ...more], folder);
};
type Program = Awaited<ReturnType<typeof begin>>;

async function ask(program: Program, path = "/", method = "GET") {
  const { port } = new URL(program.apps_url ?? "");
  const asked = request({ host: "127.0.0.1", port, path, method, headers: { host: "production-web.localhost" } }).end();
  const [response] = await once(asked, "response");
  let text = `${response.statusCode} `;
  for await (const chunk of response) text += chunk;
  return text;
}

/** The messages in the log of the environment production. */
async function messagesOf({ base_url }: Program, id: string): Promise<string[]> {
  const { data } = await createClient({ baseUrl: base_url, apiKey: key }).environments.logs({ id, name: "production" });
  return data.map(({ message }) => message);
}

for (const kind of kinds) {
  const skip = lacking(kind) || (!isLong && "the long form only: TEST_LONG=1");

  test(`${kind}: Containers run on through a stop of the server and its kill, and are taken over; leftovers go`, {
    skip,
  }, async (t) => {
    const engine = await containerEngine(t, kind);
    const { host, put } = await registry(t);
    put("web", "1", answering("one"));
    put("web", "2", answering("two"));
    const folder = temporaryFolder(t);
    const first = await begin(t, folder);
    const client = createClient({ baseUrl: first.base_url, apiKey: key });
    const { id: project_id } = await client.projects.create({ name: "web", region: "eu-west-1" });
    const order = (tag: string) =>
      ({ project_id, environment: "production", source: { type: "image", image_url: `${host}/web:${tag}` } }) as const;
    const { id } = await client.deployments.create(order("1"));
    assert.equal((await endSeenBy(client, id)).status, "active");
    assert.equal(await ask(first), "200 one");
    const running = await engine.containers();
    assert.equal(running.length, 1);
    assert.equal((await first.stop()).code, 0);
    assert.deepEqual(await engine.containers(), running);

    const second = await begin(t, folder);
    assert.equal(await ask(second), "200 one");
    assert.deepEqual(await engine.containers(), running);
    // A container that the new server took over crashes.
    await ask(second, "/crash", "POST");
    // For a moment after a container ends, the engine still accepts its connections, without an answer.
    await until(
      async () => !(await engine.containers()).includes(running[0] ?? ""),
      () => ask(second),
    );
    await until(
      async () => (await ask(second)) === "200 one",
      () => engine.containers(),
    );
    const [restarted] = await engine.containers();
    assert.notEqual(restarted, running[0]);

    // The output of a container arrives in batches. What this server has not stored when it is killed is lost.
    await until(
      async () =>
        (await messagesOf(second, project_id)).filter((message) => message === "listening as one").length === 2,
      () => engine.containers(),
    );
    // A kill during a rollout leaves a container without a live release.
    const { id: next } = await createClient({ baseUrl: second.base_url, apiKey: key }).deployments.create(order("2"));
    await second.stop("SIGKILL");
    assert.ok((await engine.containers()).includes(restarted ?? ""));
    const third = await begin(t, folder);
    const again = createClient({ baseUrl: third.base_url, apiKey: key });
    assert.equal((await endSeenBy(again, next)).status, "active");
    assert.equal(await ask(third), "200 two");
    // The output of the new release arrives in batches.
    const said = await firstOf(async () => {
      const messages = await messagesOf(third, project_id);
      return messages.includes("listening as two") ? messages : undefined;
    });
    assert.deepEqual(
      said.filter((line) => line.startsWith("listening")),
      ["listening as one", "listening as one", "listening as two"],
    );
    await again.projects.delete({ id: project_id });
    await until(
      async () => (await engine.containers()).length + (await engine.images()).length === 0,
      () => ask(third),
    );
    assert.equal((await third.stop()).code, 0);
  });

  test(`${kind}: What a service in memory left when it was killed goes at the next start`, { skip }, async (t) => {
    const engine = await containerEngine(t, kind);
    const { host, put } = await registry(t);
    // A label that would break the health check if it were used unchecked.
    const { config, ...parts } = answering("one");
    put("web", "1", {
      ...parts,
      config: { ...config, Labels: { "svc-server.health": "/ü\r\n", "svc-server.port": "x" } },
    });
    const folder = temporaryFolder(t);
    const words = ["dev", "--port", "0", "--apps-port", "0", "--key", key, "--runtime", "engine"];
    const first = await launch(t, words, folder);
    const client = createClient({ baseUrl: first.base_url, apiKey: key });
    const { id: project_id } = await client.projects.create({ name: "web", region: "eu-west-1" });
    const source = { type: "image", image_url: `${host}/web:1` } as const;
    const { id } = await client.deployments.create({ project_id, environment: "production", source });
    assert.equal((await endSeenBy(client, id)).status, "active");
    await first.stop("SIGKILL");
    assert.equal((await engine.containers()).length, 1);
    const second = await launch(t, words, folder);
    assert.deepEqual([await engine.containers(), await engine.images()], [[], []]);
    assert.equal((await second.stop()).code, 0);
    assert.deepEqual(await engine.networks(), []);
  });

  test(`${kind}: A kill of the server in the middle of a pull, or of a build: the next start does it again, and nothing is left`, {
    skip,
  }, async (t) => {
    const engine = await containerEngine(t, kind);
    let stalls = true;
    let asked = () => {};
    const stalled: ServerResponse[] = [];
    const { host, put } = await registry(t, ({ url = "", method }, response) => {
      if (!stalls || method !== "GET" || !url.startsWith("/v2/slow/blobs/")) return false;
      stalled.push(response);
      asked();
      return true;
    });
    put("slow", "1", answering("slow"));
    put("base", "1", answering("built"));
    const folder = temporaryFolder(t);
    const repos = repositories(t);
    const clientOf = ({ base_url }: Program) => createClient({ baseUrl: base_url, apiKey: key });
    const start = () => begin(t, folder, ["--repos", repos.root]);
    const first = await start();
    const { id: project_id } = await clientOf(first).projects.create({ name: "web", region: "eu-west-1" });
    const order = { project_id, environment: "production" } as const;
    const begun = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const image = { type: "image", image_url: `${host}/slow:1` } as const;
    const { id: pull } = await clientOf(first).deployments.create({ ...order, source: image });
    await begun;
    await first.stop("SIGKILL");
    stalls = false;
    // Docker cannot cancel a stalled request, and the next pull of the same layer waits for it.
    for (const one of stalled) one.destroy();
    const second = await start();
    const { status } = await endSeenBy(clientOf(second), pull);
    const { data: lines } = await clientOf(second).deployments.logs({ id: pull });
    assert.equal(status, "active", lines.map(({ message }) => message).join("\n"));
    assert.equal(await ask(second), "200 slow");
    assert.deepEqual(readdirSync(join(folder, "svc.db-apps/engine/pulls")), []);
    assert.equal((await engine.images()).length, 1, String(await engine.images()));
    const running = await engine.containers();

    repos.commit("acme/web", { Dockerfile: `FROM ${host}/base:1\nRUN echo begun; sleep 4243\n` });
    const { id: build } = await clientOf(second).deployments.create({
      ...order,
      source: { type: "git", repo: "acme/web" },
    });
    const count = async (program: Program) => {
      const { data } = await clientOf(program).deployments.logs({ id: build });
      return data.filter(({ message }) => message === "begun").length;
    };
    await until(
      async () => (await count(second)) >= 1,
      () => ask(second),
    );
    await second.stop("SIGKILL");
    const third = await start();
    assert.equal(await ask(third), "200 slow");
    await until(
      async () => (await count(third)) >= 2,
      () => ask(third),
    );
    // Podman does not list build containers.
    assert.equal((await engine.containers()).length, running.length + (kind === "docker" ? 1 : 0));
    assert.equal((await clientOf(third).deployments.cancel({ id: build })).status, "cancelled");
    const sources = join(folder, "svc.db-apps/engine/sources");
    await until(
      async () => !((await engine.containers()).length > running.length || readdirSync(sources).length > 0),
      () => ask(third),
    );
    assert.deepEqual(await engine.containers(), running);
    assert.deepEqual(
      (await engine.images()).filter((name) => name.includes(build)),
      [],
    );
    assert.equal((await third.stop()).code, 0);
  });
}
