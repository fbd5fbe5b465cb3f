import assert from "node:assert/strict";
import { test } from "node:test";
import { bearer } from "../helpers/headers.ts";
import { client, realIssuer, visitor } from "../helpers/issuer.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";
import { hosted } from "../helpers/signing-in.ts";
import { keyOf, type World, world } from "../helpers/test-service.ts";

const publicUrl = "https://app.example";
const mounted = { ...hosted, publicUrl, basePath: "/svc" } as const;
/** A browser keeps a cookie of this name only with `Path=/` and `Secure`, and one of the other only with `Secure`. */
const kept = /^(__Host-\S+=\S+; Path=\/;|__Secure-\S+=\S+; Path=\/svc\/;).*; Secure$/;

/** Sends requests as the application hands them on. */
const asker =
  (service: World["service"]) =>
  (path: string, headers: Record<string, string> = {}, init: RequestInit = {}): Promise<Response> =>
    service.fetch(new Request(publicUrl + path, { ...init, headers: { host: "app.example", ...headers } }));

test("below a base path, browsers keep the cookie of a sign-in, and the dashboard finds it", async (t) => {
  const { service } = await world(t, mounted);
  const ask = asker(service);
  const body = JSON.stringify({ key: keyOf("owner") });
  const json = { "content-type": "application/json" };
  const signedIn = await ask("/svc/dashboard/session", json, { method: "POST", body });
  const line = signedIn.headers.get("set-cookie") ?? "";
  assert.equal(signedIn.status, 201);
  assert.match(line, kept);
  const [cookie = ""] = line.split(";", 1);
  assert.equal((await ask("/svc/dashboard/session", { cookie })).status, 200);
  assert.equal((await ask("/svc/v1/me", { cookie })).status, 401, "it is good for the dashboard alone");
  const ended = await ask("/svc/dashboard/session", { cookie }, { method: "DELETE" });
  assert.match(ended.headers.get("set-cookie") ?? "", /^__Secure-svc=; Path=\/svc\/; Max-Age=0;/);
  assert.equal((await ask("/svc/dashboard/session", { cookie })).status, 401);
});

test("a port answers at two paths, and the cookie of a sign-in is good for both", async (t) => {
  const { send } = await listeningWorld(t, { ...hosted, basePath: "/svc" });
  const body = JSON.stringify({ key: keyOf("owner") });
  const headers = { "content-type": "application/json" };
  const signedIn = await send("POST", "/svc/dashboard/session", { headers, body });
  const [, path = ""] = /; Path=([^;]+)/.exec(String(signedIn.headers["set-cookie"])) ?? [];
  for (const at of ["/svc/dashboard/session", "/dashboard/session"]) assert.ok(at.startsWith(path), `${path}: ${at}`);
});

test("below a base path, a sign-in at an issuer comes back below it, to the page where it began", async (t) => {
  const at = await realIssuer(t);
  at.serve(`${publicUrl}/svc`);
  at.accounts.set("one", { email: "owner@acme.test" });
  const oidc = { issuer: at.issuer, ...client, organization: "acme" };
  const ask = asker((await world(t, { ...mounted, dashboard: { oidc } })).service);
  const ways = (await (await ask("/svc/dashboard/session/ways")).json()) as { oidc: { url: string } };
  assert.equal(ways.oidc.url, `${publicUrl}/svc/dashboard/oidc`);
  for (const [to, leads] of [
    ["/svc/dashboard/projects?status=active", "/svc/dashboard/projects?status=active"],
    ["/dashboard/projects", "/svc/dashboard/projects"],
    ["/svc//evil.test/dashboard", "/svc/dashboard"],
    ["/svc/svc/dashboard", "/svc/dashboard"],
    ["/svc/v1/projects", "/svc/dashboard"],
  ] as const) {
    const began = await ask(`/svc/dashboard/oidc?${new URLSearchParams({ to })}`);
    const line = began.headers.get("set-cookie") ?? "";
    assert.match(line, kept);
    const callback = await visitor().signInAt(began.headers.get("location") ?? "", publicUrl, "one");
    assert.equal(callback.pathname, "/svc/dashboard/oidc/callback");
    const back = await ask(callback.pathname + callback.search, { cookie: line.split(";", 1)[0] ?? "" });
    assert.deepEqual([back.status, back.headers.get("location")], [303, leads]);
    const cookie = back.headers.get("set-cookie")?.split(";", 1)[0] ?? "";
    assert.equal((await ask("/svc/dashboard/session", { cookie })).status, 200);
  }
  const refused = await ask("/svc/dashboard/oidc/callback?state=x");
  assert.equal(refused.status, 400);
  assert.match(await refused.text(), /<a href="\/svc\/dashboard">Sign in again</);
});

test("strangers who come through an application read neither metrics nor /tls-allowed, whatever they send", async (t) => {
  const key = "collector-key-of-the-operator";
  const { service } = await world(t, { ...mounted, metrics: { key } });
  const ask = asker(service);
  const tls = "/tls-allowed?domain=app.example";
  for (const below of ["/svc", ""])
    for (const headers of [{}, { "x-forwarded-for": "127.0.0.1" }, { host: "localhost" }, { host: "127.0.0.1" }]) {
      const words = JSON.stringify([below, headers]);
      assert.equal((await ask(`${below}/metrics`, headers)).status, 401, words);
      assert.equal((await ask(below + tls, headers)).status, 404, words);
    }
  assert.equal((await service.fetch("/metrics")).status, 401, "an application may pass the path alone");
  for (const token of [key, keyOf("owner")])
    assert.equal((await ask("/svc/metrics", bearer(token))).status, 200, token);
  const { url } = await service.listen();
  for (const path of ["/metrics", tls]) assert.equal((await fetch(url + path)).status, 200, `at the port: ${path}`);
});
