import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { file } from "../helpers/behind-nginx.ts";
import { caddy, noCaddy } from "../helpers/caddy.ts";
import { launch, temporaryFolder } from "../helpers/program.ts";
import { repositories } from "../helpers/repositories.ts";
import { app, noSandbox, runtimeWorld } from "../helpers/running-apps.ts";
import { expect } from "../helpers/test-service.ts";

const service = "svc.example.com";

/** Caddy with the configuration from the hosting page. */
const front = (t: TestContext, { url, apps_url }: { url: string; apps_url: string | null }) =>
  caddy(
    t,
    file("Caddyfile")
      .replaceAll("127.0.0.1:7400", new URL(url).host)
      .replaceAll("127.0.0.1:8080", `127.0.0.1:${new URL(apps_url ?? "").port}`),
  );

test("behind Caddy, dashboard, interface, git and apps share one port, with certificates for our hosts alone", {
  skip: noCaddy,
}, async (t) => {
  const folder = temporaryFolder(t);
  const server = await launch(t, [
    ...["start", "--database", join(folder, "svc.db"), "--port", "0", "--apps-port", "0", "--runtime", "process"],
    ...["--public-url", `https://${service}`, "--apps-url", "https://*.apps.example.com", "--behind-proxy"],
    ...(noSandbox ? ["--isolation", "none"] : []),
  ]);
  const site = await front(t, server);
  assert.equal((await site.ask(service, "/healthz")).status, 200);
  assert.match((await site.ask(service, "/dashboard")).body, /<html/i);
  const headers = { authorization: `Bearer ${server.api_key}` };
  assert.equal((await site.ask(service, "/v1/me", headers)).status, 200);
  for (const inside of ["/metrics", `/tls-allowed?domain=${service}`])
    assert.equal((await site.ask(service, inside)).status, 404);

  const repos = repositories(t);
  repos.commit("me/hello", app("one"));
  const text = await new Promise<string>((resolve) => {
    const resolved = `http.curloptResolve=${service}:${site.port}:127.0.0.1`;
    const address = `https://me:${server.api_key}@${service}:${site.port}/git/me/hello.git`;
    execFile(
      "git",
      ["-c", resolved, "push", address, "main"],
      {
        cwd: join(repos.root, "me/hello"),
        env: { PATH: process.env["PATH"], HOME: repos.root, GIT_SSL_CAINFO: site.root },
      },
      (_error, _stdout, stderr) => resolve(stderr),
    );
  });
  assert.match(text, /^remote: Live at https:\/\/production-hello\.apps\.example\.com\b/m);
  assert.equal((await site.ask("production-hello.apps.example.com")).body, "one");
  await assert.rejects(site.ask("production-nobody.apps.example.com"), /alert|EPROTO|ECONNRESET|socket/i);
  await assert.rejects(site.ask("www.example.org"), /alert|EPROTO|ECONNRESET|socket/i);
});

test("only this machine asks /tls-allowed, which knows the service's host, hosts of environments, and active domains", async (t) => {
  const here = await runtimeWorld(t, {
    publicUrl: "https://svc.example.com",
    behindProxy: true,
    domains: { verify: false },
  });
  const { url } = await here.service.listen();
  const ask = async (domain: string, headers: Readonly<Record<string, string>> = {}) =>
    (await fetch(`${url}/tls-allowed?domain=${encodeURIComponent(domain)}`, { headers })).status;
  const { id } = await here.project("web");
  const path = `/v1/projects/${id}/environments/production`;
  expect(await here.call("owner", "PUT", path, { variables: {}, domains: ["www.acme.test"] }), 200);
  const known = ["svc.example.com", "SVC.example.com.", "production-web.localhost", "www.acme.test"];
  for (const host of known) assert.equal(await ask(host), 200, host);
  const unknown = [
    "",
    "localhost",
    "staging-web.localhost",
    "a.production-web.localhost",
    "acme.test",
    "x.www.acme.test",
    `${"a".repeat(300)}.localhost`,
    "../x",
    "*.localhost",
  ];
  for (const host of unknown) assert.equal(await ask(host), 404, host);
  assert.equal((await fetch(`${url}/tls-allowed`)).status, 404);
  for (const second of ["example.org", "www.acme.test"])
    assert.equal((await fetch(`${url}/tls-allowed?domain=www.acme.test&domain=${second}`)).status, 404);
  const forwarding = ["for", "host", "proto", "port", "server", "prefix"].map((end) => `x-forwarded-${end}`);
  for (const name of [...forwarding, "forwarded", "via", "x-real-ip", "true-client-ip"])
    assert.equal(await ask("svc.example.com", { [name]: "127.0.0.1" }), 404, name);
  expect(await here.call("owner", "PUT", path, { variables: {}, domains: [] }), 200);
  assert.equal(await ask("www.acme.test"), 404);
});
