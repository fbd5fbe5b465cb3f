import assert from "node:assert/strict";
import { test } from "node:test";
import { endOf } from "../helpers/deployments.ts";
import { bearer } from "../helpers/headers.ts";
import { repositories, serveRepositories } from "../helpers/repositories.ts";
import { app, noSandbox, processesWith, runtimeWorld } from "../helpers/running-apps.ts";
import { expect } from "../helpers/test-service.ts";

const host = "production-web.localhost";

test("A branch over smart HTTP is built and answers at its host; a rollback builds nothing and keeps its commit", async (t) => {
  const repos = repositories(t);
  const url = await serveRepositories(t, repos.root, { token: "hush-token" });
  const here = await runtimeWorld(t, { codeHost: { url, token: "hush-token", organizations: { acme: ["*"] } } });
  const commit = repos.commit("acme/web", {
    ...app("one"),
    "package.json": { scripts: { build: "echo built > built.txt", start: "node server.js" } },
  });
  repos.git("acme/web", "tag", "--annotate", "--message=one", "v1");
  const { id } = await here.project("web");
  const variables = { PORT: "1", GREETING: "hi", TOKEN: { value: "s3cret-value", secret: true } };
  const environment = expect(
    await here.call("developer", "PUT", `/v1/projects/${id}/environments/production`, {
      variables,
      domains: ["www.acme.test"],
    }),
    200,
  );
  assert.match(environment.url, /^http:\/\/production-web\.localhost:\d+$/);

  const first = await here.release(id, { tag: "v1" });
  assert.deepEqual(
    [first.status, first.version, first.url],
    ["active", "v1", environment.url],
    String(await here.messages(first.id)),
  );
  assert.equal(await here.ask(host), "200 one");
  assert.equal(await here.ask("www.acme.test"), "200 one");
  assert.match(await here.ask("unknown.localhost"), /^404 /);
  const seen = JSON.parse((await here.ask(host, "/env")).slice(4));
  const { PORT, PATH, HOME, LANG, PWD, TMPDIR, SHLVL, OLDPWD, _, DATA_DIR, ...own } = seen;
  assert.notEqual(PORT, "1");
  assert.ok(noSandbox || DATA_DIR === "/data", DATA_DIR);
  assert.deepEqual(own, {
    HOST: "127.0.0.1",
    NODE_ENV: "production",
    SVC_DEPLOYMENT: first.id,
    SVC_VERSION: "v1",
    SVC_ENVIRONMENT: "production",
    GREETING: "hi",
    TOKEN: "s3cret-value",
  });

  assert.equal(await here.printed(id, /^listening as one/), "listening as one [redacted]");

  const second = repos.commit("acme/web", app("two"));
  const next = await here.release(id, { branch: "main" });
  assert.deepEqual([next.status, next.version], ["active", second]);
  assert.equal(await here.ask(host), "200 two");
  assert.equal(expect(await here.call("viewer", "GET", `/v1/deployments/${first.id}`), 200).url, undefined);

  // The tag moves; the rollback keeps its own commit.
  repos.git("acme/web", "tag", "--force", "--annotate", "--message=two", "v1");
  const { id: back } = expect(await here.call("developer", "POST", `/v1/deployments/${next.id}/rollback`), 201);
  const restored = await endOf(here, "viewer", back);
  assert.deepEqual([restored.status, restored.version], ["active", "v1"]);
  assert.equal(await here.ask(host), "200 one");
  assert.ok((await here.messages(back)).includes("The release is still stored, so nothing is built"));
  assert.ok((await here.messages(first.id)).includes(`Checked out commit ${commit}`));
});

test("A failed build and a failed health check leave the old release serving, and say why", async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  const secret = { TOKEN: { value: "s3cret-value", secret: true } };
  await here.call("developer", "PUT", `/v1/projects/${id}/environments/production`, { variables: secret });
  here.repos.commit("acme/web", app("one"));
  assert.equal((await here.release(id)).status, "active");

  const cases = [
    [{ "package.json": { scripts: { build: "echo $TOKEN; exit 7", start: "x" } } }, "failed", /exit code 7/],
    [
      { "package.json": { scripts: { start: "node -e 'process.exit(4)'" } } },
      "rolled_back",
      /ended with the exit code 4/,
    ],
    [{ "svc.json": { strat: "x" } }, "failed", /svc\.json: strat is an unknown field/],
  ] as const;
  for (const [files, status, reason] of cases) {
    here.repos.commit("acme/web", files);
    const { id: failed, status: seen } = await here.release(id);
    const lines = (await here.messages(failed)).join("\n");
    assert.equal(seen, status, lines);
    assert.match(lines, reason);
    assert.doesNotMatch(lines, /s3cret-value/);
    assert.equal(await here.ask(host), "200 one");
  }
});

test("An app that answers only its own host, and nothing at /, goes live", async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  const { host: own } = new URL(here.service.appsUrl ?? "");
  const hosted = (name: string) => `
require("node:http").createServer(({ headers }, response) => {
  response.writeHead(headers.host === "${name}" && headers["x-forwarded-host"] === "${name}" ? 404 : 500).end("an API");
}).listen(process.env.PORT, process.env.HOST);`;
  const deployed = async (name: string) => {
    here.repos.commit("acme/web", { "package.json": { name: "web" }, "server.js": hosted(name) });
    const { id: deployment, status } = await here.release(id);
    const messages = await here.messages(deployment);
    assert.equal(status, "active", messages.join("\n"));
    assert.ok(messages.includes("The health check passed: GET / answered 404"), messages.join("\n"));
  };
  await deployed(`production-web.${own}`);
  const path = `/v1/projects/${id}/environments/production`;
  await here.call("developer", "PUT", path, { domains: ["shop.example.com"] });
  await deployed(own.replace("localhost", "shop.example.com"));
});

test("A crash costs a request its time and no answer; restart takes today's variables", async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  here.repos.commit("acme/web", app("one"));
  await here.release(id);
  assert.match(await here.ask(host, "/crash", { method: "POST", body: "x" }), /^502 /);
  assert.equal(await here.ask(host), "200 one");
  assert.match(await here.printed(id, /ended with the exit code 3/), /starts again in 0\.25 s/);
  const path = `/v1/projects/${id}/environments/production`;
  const { data: environments } = expect(await here.call("viewer", "GET", `/v1/projects/${id}/environments`), 200);
  assert.equal(environments[0].restarts.count, 1);
  // Following an app's log ends when its key ends.
  const viewer = here.service.client({
    apiKey: (await here.service.keys.create({ role: "viewer", name: "brief" })).key,
  });
  const headers = bearer((await viewer.keys.create({ name: "briefer" })).key);
  const followed = await here.service.fetch(`${path}/logs?follow=true`, { headers });
  assert.equal(followed.status, 200);
  for (const one of (await viewer.keys.list()).data)
    if (one.name === "briefer") await viewer.keys.revoke({ id: one.id });
  assert.match(await followed.text(), /event: problem\ndata: {.*"unauthorized"/);
  await here.call("developer", "PUT", path, { variables: { COLOUR: "blue" } });
  expect(await here.call("developer", "POST", `${path}/restart`), 200);
  assert.match(await here.ask(host, "/env"), /"COLOUR":"blue"/);
  const { data } = expect(await here.call("owner", "GET", "/v1/audit-log?action=environments.restart"), 200);
  assert.deepEqual(
    data.map(({ target }: { target: string }) => target),
    [id],
  );
  expect(await here.call("developer", "DELETE", path), 204);
  assert.match(await here.ask(host), /^404 /);
  assert.equal((await here.call("developer", "POST", `${path}/restart`)).status, 404);
});

test("Cancelling a build ends all of its processes, those that left their group too", {
  skip: noSandbox,
}, async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  const mark = `sleep 4${process.pid}`;
  here.repos.commit("acme/web", { "svc.json": { build: `setsid ${mark} & echo started; ${mark}`, start: "x" } });
  const { id: deployment } = await here.deploy(id, { source: { type: "git", repo: "acme/web" } });
  await here.logged(deployment, /^started$/);
  assert.ok(processesWith(mark).length > 0);
  assert.equal(
    expect(await here.call("developer", "POST", `/v1/deployments/${deployment}/cancel`), 200).status,
    "cancelled",
  );
  await here.service.close();
  assert.deepEqual(processesWith(mark), []);
});
