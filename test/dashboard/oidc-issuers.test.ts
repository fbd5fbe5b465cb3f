import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createService } from "../../lib/index.ts";
import { milliseconds } from "../../lib/kernel/text/duration.ts";
import { foundIn } from "../helpers/canaries.ts";
import { onMachineTime } from "../helpers/engine.ts";
import { client, realIssuer, visitor } from "../helpers/issuer.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";
import { hosted, signingIn } from "../helpers/signing-in.ts";
import { folderOf } from "../helpers/temporary-store.ts";

const json = { "content-type": "application/json" };
const basic = { dashboard: { oidc: { issuer: "https://id.example.com", ...client } } };

test("an issuer that is down stops no start; the sign-in says so, and goes on once it is back", async (t) => {
  const { at, origin, start } = await signingIn(t);
  const dora = visitor();
  at.replace((request) => request.socket.destroy());
  const down = await dora.send(start);
  assert.deepEqual(
    [down.status, /Acme ID does not answer\. Try again later\./.test(down.text)],
    [503, true],
    down.text,
  );
  at.replace(undefined);
  const callback = await dora.signIn(start, "dora");
  at.replace((request) => request.socket.destroy());
  assert.equal((await dora.send(callback)).status, 503, "it goes down between the two");
  at.replace(undefined);
  assert.equal((await dora.send(await dora.signIn(start, "dora"))).status, 303);
  assert.equal((await dora.send(`${origin}/dashboard/session`)).status, 200);
});

test("an issuer that answers anything else is a page, and no fault of the service", async (t) => {
  for (const [status, headers, body] of [
    [200, { "content-type": "text/html" }, "<h1>Sign in to the network</h1>"],
    [200, json, "{"],
    [200, json, '{"issuer":"https://other.example.com"}'],
    [200, json, "[]"],
    [500, json, '{"error":"server_error"}'],
    [302, { location: "https://other.example.com" }, ""],
    [200, json, `{"a":"${"x".repeat(2_000_000)}"}`],
  ] as const) {
    const { at, start } = await signingIn(t);
    at.replace((_, response) => response.writeHead(status, headers).end(body));
    const reply = await visitor().send(start);
    assert.ok(reply.status === 502 || reply.status === 503, `${reply.status} ${reply.text}`);
    assert.match(reply.text, /You are not signed in/);
  }
});

test("the secret goes as the issuer takes it, and a wrong one is the operator's to correct", async (t) => {
  const post = await realIssuer(t);
  const here = await listeningWorld(t, {
    ...hosted,
    dashboard: { oidc: { issuer: post.issuer, ...client, organization: "acme" } },
  });
  const origin = `http://127.0.0.1:${here.port}`;
  post.serve(origin, { token_endpoint_auth_method: "client_secret_post" });
  post.accounts.set("one", { email: "owner@acme.test" });
  for (let time = 0; time < 2; time++) {
    const one = visitor();
    assert.equal((await one.send(await one.signIn(`${origin}/dashboard/oidc`, "one"))).status, 303);
  }
  const { start } = await signingIn(t, { oidc: { clientSecret: "secret_of_another" } });
  const dora = visitor();
  const reply = await dora.send(await dora.signIn(start, "dora"));
  assert.equal(reply.status, 502);
  assert.match(
    reply.text,
    /does not accept this service\. Its operator has to correct dashboard\.oidc\.clientId or client/,
  );
});

test("a token of a clock that is far away, or signed by another issuer, lets nobody in", async (t) => {
  const { at, origin, start } = await signingIn(t);
  const late = visitor();
  const came = await late.signIn(start, "dora");
  const { now } = Date;
  let ahead = 0;
  t.mock.method(Date, "now", () => now() + ahead);
  // While the service reads the token, its clock is two hours ahead of the issuer's.
  at.replace((request, response) => {
    if (request.url === "/token") response.on("finish", () => (ahead = milliseconds("2h")));
    at.pass(request, response);
  });
  const reply = await late.send(came);
  ahead = 0;
  assert.equal(reply.status, 403, reply.text);
  assert.match(reply.text, /The clocks of this service and of Acme ID differ too much/);

  const stranger = await realIssuer(t);
  // The key has the name that the other issuer's key has by default.
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const jwk = { ...privateKey.export({ format: "jwk" }), kid: "keystore-CHANGE-ME", use: "sig", alg: "RS256" };
  stranger.serve(origin, {}, { jwks: { keys: [jwk as never] } });
  const { at: mixed, start: other } = await signingIn(t);
  const dora = visitor();
  const callback = await dora.signIn(other, "dora");
  mixed.replace(async (request, response) => {
    // Serves the keys of another issuer.
    const from = await fetch(`${stranger.issuer}/jwks`);
    if (request.url === "/jwks") response.writeHead(200, json).end(await from.text());
    else mixed.pass(request, response);
  });
  const forged = await dora.send(callback);
  assert.equal(forged.status, 502, forged.text);
});

test("behind TLS the public URL is the way back, its cookie is bound to it, and a restart loses nothing", async (t) => {
  const at = await realIssuer(t);
  const database = join(folderOf(t), "svc.db");
  const publicUrl = "https://svc.example.com";
  const options = {
    ...hosted,
    database,
    publicUrl,
    behindProxy: true,
    dashboard: { oidc: { issuer: at.issuer, ...client, organization: "acme" } },
  };
  const first = await listeningWorld(t, options);
  at.serve(publicUrl);
  at.accounts.set("one", { email: "owner@acme.test" });
  const host = { host: "svc.example.com", "x-forwarded-proto": "https" };
  const ways = await first.send("GET", "/dashboard/session/ways", { headers: host });
  const { key, oidc } = ways.body;
  assert.deepEqual([key, oidc], [true, { name: new URL(at.issuer).host, url: `${publicUrl}/dashboard/oidc` }]);
  const began = await first.send("GET", "/dashboard/oidc", { headers: host });
  const [line = ""] = began.headers["set-cookie"] ?? [];
  assert.match(line, /^__Host-svc-oidc=\S+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/);
  const person = visitor();
  const callback = await person.signInAt(began.headers.location ?? "", publicUrl, "one");
  assert.equal(callback.origin, publicUrl);
  await first.service.close();

  const second = await listeningWorld(t, options);
  const cookie = line.split(";", 1)[0] ?? "";
  const path = callback.pathname + callback.search;
  const back = await second.send("GET", path, { headers: { ...host, cookie } });
  assert.equal(back.status, 303, back.text);
  assert.match(String(back.headers["set-cookie"]), /^__Host-svc=\w{43}; Path=\/; .*; SameSite=Strict; Secure$/);
  // Over plain http from another machine, browsers keep no secure cookie.
  const named = await listeningWorld(t, { ...hosted, ...basic, hosts: ["svc.internal"] });
  const plain = await named.send("GET", "/dashboard/oidc", { headers: { host: "svc.internal" } });
  assert.deepEqual([plain.status, /Sign in over https/.test(plain.text)], [403, true]);
});

test("without keySignIn, a key opens no session, and programs go on with it", async (t) => {
  const { here } = await signingIn(t, { keySignIn: false });
  const body = JSON.stringify({ key: "sk_live_demo_owner" });
  const refused = await here.send("POST", "/dashboard/session", { headers: json, body });
  assert.deepEqual(
    [refused.status, refused.body.error.message],
    [403, "API keys do not sign in here; sign in with Acme ID"],
  );
  const [entry] = (await here.send("GET", "/v1/audit-log")).body.data;
  assert.deepEqual([entry.action, entry.via, typeof entry.key_id], ["sign-in.refused", "dashboard", "string"]);
  assert.equal((await here.send("GET", "/dashboard/session/ways")).body.key, false);
  assert.equal((await here.send("GET", "/v1/me")).status, 200);
  assert.equal((await here.send("POST", "/dashboard/oidc")).status, 405);
});

test("an organization that is not known is said at the start, and at the sign-in", async (t) => {
  for (const organization of [undefined, "initech"]) {
    const logged: string[] = [];
    const ignore = () => {};
    const logger = { error: ignore, warn: (text: string) => void logged.push(text), info: ignore, debug: ignore };
    const { start } = await signingIn(t, { oidc: { organization }, options: { logger } });
    assert.match(
      logged.join("\n"),
      /nobody can sign in with OpenID Connect: there is (no|not exactly one) organization/,
    );
    const dora = visitor();
    const reply = await dora.send(await dora.signIn(start, "dora"));
    assert.deepEqual([reply.status, /does not know which organization you belong to/.test(reply.text)], [503, true]);
  }
});

test("wrong options are refused with what is right", async () => {
  const { oidc } = basic.dashboard;
  for (const [dashboard, sentence] of [
    [{ oidc: {} }, /dashboard\.oidc\.issuer is required/],
    [{ oidc: { ...oidc, clientSecret: undefined } }, /dashboard\.oidc\.clientSecret is required/],
    [{ oidc: { ...oidc, create: "owner" } }, /dashboard\.oidc\.create must be admin, developer or viewer/],
    [{ oidc: { ...oidc, issuer: "http://id.example.com" } }, /dashboard\.oidc\.issuer must be the https URL/],
    [{ oidc: { ...oidc, issuer: "https://a:b@id.example.com" } }, /dashboard\.oidc\.issuer must be the https URL/],
    [{ keySignIn: false }, /dashboard\.keySignIn must be true without dashboard\.oidc/],
    [{ oidc, more: 1 }, /dashboard\.more is unknown/],
    [7, /dashboard must be true, false or an object of options/],
  ] as const)
    await assert.rejects(createService({ ...hosted, dashboard: dashboard as never }), sentence);
});

test("in dev nobody signs in, and the way there says so", async (t) => {
  const here = await listeningWorld(t, basic);
  const reply = await here.send("GET", "/dashboard/oidc", { headers: {} });
  assert.deepEqual([reply.status, /In dev nobody signs in/.test(reply.text)], [409, true]);
});

test("no secret of a sign-in is in an answer, the log or a file", onMachineTime, async (t) => {
  const folder = folderOf(t);
  const logged: string[] = [];
  const note = (...entry: unknown[]) => void logged.push(JSON.stringify(entry));
  const logger = { error: note, warn: note, info: note, debug: note };
  const options = { database: join(folder, "svc.db"), logger, logLevel: "debug" } as const;
  const { here, start } = await signingIn(t, { options });
  const dora = visitor();
  const began = dora.located(await dora.send(start)).searchParams;
  const callback = await dora.signIn(start, "dora");
  const { searchParams: query } = callback;
  const back = await dora.send(callback);
  const nobody = visitor();
  const refused = await nobody.send(await nobody.signIn(start, "nobody"));
  await here.service.close();
  const secrets = {
    "the secret of the client": client.clientSecret,
    "the code": query.get("code") ?? "",
    "the nonce": began.get("nonce") ?? "",
    "the state": query.get("state") ?? "",
    "an address": "nobody@acme.test",
  };
  const files = readdirSync(folder).filter((name) => name.startsWith("svc.db"));
  assert.deepEqual(foundIn(secrets, logged.join("\n")), []);
  assert.match(logged.join("\n"), /a sign-in with OpenID Connect was refused.*unknown address/);
  for (const name of files) assert.deepEqual(foundIn(secrets, readFileSync(join(folder, name))), [], name);
  for (const { text, headers } of [back, refused])
    assert.deepEqual(
      foundIn(secrets, JSON.stringify([...headers]) + text).filter((name) => name !== "an address"),
      [],
    );
});
