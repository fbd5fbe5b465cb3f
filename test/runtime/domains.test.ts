import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { endOf } from "../helpers/deployments.ts";
import { temporaryFolder } from "../helpers/program.ts";
import { runtimeWorld } from "../helpers/running-apps.ts";
import { expect, git, type Who } from "../helpers/test-service.ts";
import { startTextServer } from "../helpers/text-server.ts";

type Here = Awaited<ReturnType<typeof runtimeWorld>>;

async function live(here: Here, who: Who, domains: readonly string[] = []) {
  const { id } = expect(await here.call(who, "POST", "/v1/projects", { name: "web", region: "local" }), 201);
  const environment = `/v1/projects/${id}/environments/production`;
  const put = () => here.call(who, "PUT", environment, { variables: {}, domains });
  expect(await put(), 200);
  const order = { project_id: id, environment: "production", source: git };
  const made = expect(await here.call(who, "POST", "/v1/deployments", order), 201);
  const { status } = await endOf(here, who, made.id);
  assert.equal(status, "active");
  const [{ url }] = expect(await here.call(who, "GET", `/v1/projects/${id}/environments`), 200).data;
  return { environment, put, host: new URL(url).hostname };
}

test("a domain that waits for its record reaches nobody's app, and does once it is found", async (t) => {
  const records = new Map<string, readonly string[]>();
  const { address } = await startTextServer(t, records);
  const here = await runtimeWorld(t, { domains: { verify: true, servers: [address] } });
  here.repos.commit("acme/web", { "index.html": "globex" });
  const { environment, put, host } = await live(here, "stranger", ["bank.example.com"]);
  assert.deepEqual([await here.ask(host), (await here.ask("bank.example.com")).slice(0, 3)], ["200 globex", "404"]);
  const [{ record, token }] = expect(await put(), 200).domain_status;
  records.set(record, [token]);
  expect(await put(), 200);
  await here.service.settle();
  assert.equal(await here.ask("bank.example.com"), "200 globex");

  // The health check comes as people do: not with a domain that still waits.
  const server = `require("node:http").createServer(({ headers }, response) => {
    response.writeHead(headers.host.startsWith("bank.") ? 200 : 500).end();
  }).listen(process.env.PORT);`;
  here.repos.commit("acme/web", { "package.json": { name: "web" }, "server.js": server });
  const domains = ["another.example.com", "bank.example.com"];
  expect(await here.call("stranger", "PUT", environment, { variables: {}, domains }), 200);
  const order = { project_id: environment.split("/")[3], environment: "production", source: git };
  const { id } = expect(await here.call("stranger", "POST", "/v1/deployments", order), 201);
  assert.equal((await endOf(here, "stranger", id)).status, "active");
});

test("the service's own host is no app's, though an environment has its name or had it before", async (t) => {
  const database = join(temporaryFolder(t), "svc.db");
  const apps = { domain: "example.com" };
  const before = await runtimeWorld(t, { database, apps: { port: 0, ...apps }, domains: { verify: false } });
  before.repos.commit("acme/web", { "index.html": "of an app" });
  const { host } = await live(before, "owner", ["svc.example.org"]);
  assert.equal(host, "production-web.example.com");
  for (const own of [host, "svc.example.org"]) assert.equal(await before.ask(own), "200 of an app");
  await before.service.close();
  const here = await runtimeWorld(t, {
    ...{ database, apps: { port: 0, ...apps }, domains: { verify: false }, codeHost: { repos: before.repos.root } },
    ...{ publicUrl: "https://production-web.example.com", hosts: ["svc.example.org", "staging-web.example.com"] },
  });
  const [{ id }] = expect(await here.call("owner", "GET", "/v1/projects"), 200).data;
  const order = { project_id: id, environment: "staging", source: git };
  await endOf(here, "owner", expect(await here.call("owner", "POST", "/v1/deployments", order), 201).id);
  for (const own of ["production-web.example.com", "svc.example.org", "staging-web.example.com"])
    assert.match(await here.ask(own), /^404/, own);
  const { data } = expect(await here.call("owner", "GET", `/v1/projects/${id}/environments`), 200);
  assert.match(data[1].url, /^http:\/\/staging-web-[a-z0-9]{6}\./, "another label is taken");
  assert.equal(await here.ask(new URL(data[1].url).hostname), "200 of an app");
});

test("the host of a deleted environment is not given to another organization", async (t) => {
  const here = await runtimeWorld(t);
  here.repos.commit("acme/web", { "index.html": "here" });
  const first = await live(here, "owner");
  expect(await here.call("owner", "DELETE", first.environment), 204);
  const second = await live(here, "stranger");
  assert.notEqual(second.host, first.host);
  assert.equal((await here.ask(first.host)).slice(0, 3), "404");
  assert.equal(await here.ask(second.host), "200 here");
});
