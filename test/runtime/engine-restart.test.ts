import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:http";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createClient } from "../../lib/client.ts";
import { containerEngine, noEngine } from "../helpers/container-engine.ts";
import { answering, registry } from "../helpers/image-registry.ts";
import { launch, temporaryFolder } from "../helpers/program.ts";
import { isLong } from "../helpers/properties.ts";

const key = "sk_live_demo_owner1";
const skip = noEngine || (!isLong && "it takes long (TEST_LONG=1)");

const begin = (t: TestContext, folder: string) => {
  const words = ["dev", "--port", "0", "--database", join(folder, "svc.db"), "--key", key, "--runtime", "engine"];
  return launch(t, [...words, "--apps-port", "0"], folder);
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

test("Containers run on through a stop of the server and its kill, and are taken over; leftovers go", {
  skip,
}, async (t) => {
  const engine = await containerEngine(t);
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
  assert.equal((await client.deployments.get({ id, wait: 60 })).status, "active");
  assert.equal(await ask(first), "200 one");
  const running = await engine.containers();
  assert.equal(running.length, 1);
  assert.equal((await first.stop()).code, 0);
  assert.deepEqual(await engine.containers(), running);

  const second = await begin(t, folder);
  assert.equal(await ask(second), "200 one");
  assert.deepEqual(await engine.containers(), running);
  // A crash of a container that was taken over.
  await ask(second, "/crash", "POST");
  // The engine takes connections of a container for a moment after its end, and answers none.
  while ((await engine.containers()).includes(running[0] ?? "")) await ask(second);
  while ((await ask(second)) !== "200 one") await engine.containers();
  const [restarted] = await engine.containers();
  assert.notEqual(restarted, running[0]);

  // A kill in the middle of a rollout, and a container that belongs to no live release.
  const { id: next } = await createClient({ baseUrl: second.base_url, apiKey: key }).deployments.create(order("2"));
  await second.stop("SIGKILL");
  assert.ok((await engine.containers()).includes(restarted ?? ""));
  const third = await begin(t, folder);
  const again = createClient({ baseUrl: third.base_url, apiKey: key });
  assert.equal((await again.deployments.get({ id: next, wait: 60 })).status, "active");
  assert.equal(await ask(third), "200 two");
  const said: string[] = [];
  // What the new release prints comes in batches.
  while (!said.includes("listening as two")) {
    const { data } = await again.environments.logs({ id: project_id, name: "production" });
    said.splice(0, said.length, ...data.map(({ message }) => message));
  }
  assert.deepEqual(
    said.filter((line) => line.startsWith("listening")),
    ["listening as one", "listening as one", "listening as two"],
  );
  await again.projects.delete({ id: project_id });
  while ((await engine.containers()).length + (await engine.images()).length > 0) await ask(third);
  assert.equal((await third.stop()).code, 0);
});

test("What a service in memory left when it was killed goes at the next start", { skip }, async (t) => {
  const engine = await containerEngine(t);
  const { host, put } = await registry(t);
  // A label that would break the health check, had it been taken as it is.
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
  assert.equal((await client.deployments.get({ id, wait: 60 })).status, "active");
  await first.stop("SIGKILL");
  assert.equal((await engine.containers()).length, 1);
  const second = await launch(t, words, folder);
  assert.deepEqual([await engine.containers(), await engine.images()], [[], []]);
  assert.equal((await second.stop()).code, 0);
  assert.deepEqual(await engine.networks(), []);
});
