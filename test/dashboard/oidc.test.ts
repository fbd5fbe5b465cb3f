import assert from "node:assert/strict";
import { once } from "node:events";
import { join } from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { WebSocket } from "ws";
import { replaceSystemTime } from "../../lib/kernel/node/system.ts";
import { milliseconds } from "../../lib/kernel/text/duration.ts";
import { onMachineTime } from "../helpers/engine.ts";
import { type Visitor, visitor } from "../helpers/issuer.ts";
import { signingIn } from "../helpers/signing-in.ts";
import { folderOf } from "../helpers/temporary-store.ts";

const json = { "content-type": "application/json" };

test("a person signs in at the issuer, has their role and every scope, and signs out", async (t) => {
  const { here, origin, start, idOf } = await signingIn(t);
  const dora = visitor();
  const began = await dora.send(start);
  assert.deepEqual([began.status, began.headers.get("cache-control")], [303, "no-store"]);
  const cookie = began.headers.get("set-cookie") ?? "";
  assert.match(cookie, /^svc_\d+_oidc=\S+; Path=\/dashboard\/oidc; Max-Age=600; HttpOnly; SameSite=Lax$/);
  const asked = dora.located(began).searchParams;
  assert.deepEqual(
    [asked.get("response_type"), asked.get("code_challenge_method"), asked.get("redirect_uri"), asked.get("scope")],
    ["code", "S256", `${start}/callback`, "openid email profile"],
  );
  for (const name of ["state", "nonce", "code_challenge"]) assert.match(asked.get(name) ?? "", /^[\w-]{43}$/);
  assert.doesNotMatch(cookie, new RegExp(`${asked.get("state")}|${asked.get("nonce")}`), "the cookie is sealed");

  const back = await dora.send(await dora.signIn(`${start}?to=/dashboard/projects?status=active`, "dora"));
  assert.deepEqual([back.status, back.headers.get("location")], [303, "/dashboard/projects?status=active"]);
  assert.match(
    back.headers.get("set-cookie") ?? "",
    /=\w{43}; Path=\/dashboard; Max-Age=2592000; HttpOnly; SameSite=Strict$/,
  );
  const me = JSON.parse((await dora.send(`${origin}/dashboard/session`)).text);
  assert.deepEqual([me.user_id, me.role, me.scopes], [idOf("dora"), "developer", ["*"]]);
  assert.equal((await dora.send(`${origin}/dashboard/api/projects`)).status, 200);
  assert.equal((await dora.send(`${origin}/v1/projects`)).status, 401);
  assert.equal((await dora.send(`${origin}/dashboard/api/me`)).status, 404, "it has no key");
  const body = JSON.stringify({ name: "web", region: "eu" });
  const refused = await dora.send(`${origin}/dashboard/api/projects`, { method: "POST", headers: json, body });
  assert.equal(refused.status, 403, "a developer makes no projects");
  const key = await dora.send(`${origin}/dashboard/api/api-keys`, {
    method: "POST",
    headers: json,
    body: '{"name":"of the page"}',
  });
  assert.equal(key.status, 201, key.text);
  assert.equal((await here.send("GET", "/v1/users")).body.data.length, 6);

  assert.equal((await dora.send(`${origin}/dashboard/session`, { method: "DELETE" })).status, 204);
  assert.equal((await dora.send(`${origin}/dashboard/session`)).status, 401);
});

test("a session ends at once with the suspension and the removal of its user, without a key too", async (t) => {
  const { here, origin, start, idOf } = await signingIn(t);
  const ends = {
    dora: ["POST", `/v1/users/${idOf("dora")}/suspend`],
    sally: ["DELETE", `/v1/users/${idOf("sally")}`],
  } as const;
  await Promise.all(
    Object.entries(ends).map(async ([name, [method, path]]) => {
      const person = visitor();
      assert.equal((await person.send(await person.signIn(start, name))).status, 303);
      const cookie = [...person.jarOf(origin)].map(([key, value]) => `${key}=${value}`).join("; ");
      const socket = new WebSocket(`ws://127.0.0.1:${here.port}/dashboard/live`, { headers: { cookie } });
      await once(socket, "message");
      const closed = once(socket, "close");
      assert.ok((await here.send(method, path)).status < 300);
      assert.equal((await closed)[0], 4401, name);
      assert.equal((await person.send(`${origin}/dashboard/session`)).status, 401, name);
    }),
  );
});

test("nobody comes in but the active user of the organization with the verified address", async (t) => {
  const { at, here, origin, start, idOf } = await signingIn(t);
  at.accounts.set("unverified", { email: "dora@acme.test", email_verified: false });
  at.accounts.set("without", { email: undefined as never, email_verified: true });
  at.accounts.set("elsewhere", { email: "stranger@globex.test" });
  at.accounts.set("odd", { email: "<img src=x>@acme.test" });
  at.accounts.set("shouting", { email: "DORA@ACME.TEST" });
  at.accounts.set("word", { email: "dora@acme.test", email_verified: "true" as never });
  assert.equal((await here.send("POST", `/v1/users/${idOf("sally")}/suspend`)).status, 200);
  const says: Readonly<Record<string, RegExp>> = {
    unverified: /no verified e-mail address/,
    without: /no verified e-mail address/,
    elsewhere: /acme has no user with the address stranger@globex\.test\. Ask an owner or admin of acme to invite/,
    nobody: /acme has no user with the address nobody@acme\.test/,
    odd: /the address &lt;img src=x&gt;@acme\.test/,
    sally: /suspended\. Ask an owner or admin of acme to reactivate it/,
  };
  for (const [name, sentence] of Object.entries(says)) {
    const person = visitor();
    const reply = await person.send(await person.signIn(start, name));
    assert.equal(reply.status, 403, `${name}: ${reply.text}`);
    assert.equal(reply.headers.get("content-type"), "text/html; charset=utf-8");
    assert.match(reply.text, sentence, name);
    assert.match(reply.headers.get("set-cookie") ?? "", /_oidc=; .*Max-Age=0/, name);
    assert.equal((await person.send(`${origin}/dashboard/session`)).status, 401, name);
    assert.doesNotMatch(reply.text, /owner@acme|globex</, "it names no other person");
  }
  for (const name of ["shouting", "word"]) {
    const person = visitor();
    assert.equal((await person.send(await person.signIn(start, name))).status, 303, name);
  }
});

test("with create, a new person becomes a user of that role, in place of an invitation", async (t) => {
  const database = join(folderOf(t), "svc.db");
  const mail = () => {
    throw new Error("no paper");
  };
  const options = { database, mail };
  const { at, here, origin, start, idOf } = await signingIn(t, { oidc: { create: "viewer" }, options });
  at.accounts.set("nina", { name: " Nina\n " });
  at.accounts.set("long", { name: "x".repeat(500) });
  at.accounts.set("pat", { name: "Pat", email: "pat.o'neil@xn--mnchen-3ya.example" });
  const invitation = JSON.stringify({ email: "nina@acme.test", role: "admin" });
  const { authorization } = { authorization: "Bearer sk_live_demo_owner" };
  const sent = await here.send("POST", "/v1/users/invite", { headers: { authorization, ...json }, body: invitation });
  assert.ok(sent.status < 300, sent.text);
  const made = [visitor(), visitor()];
  const answers = await Promise.all(made.map(async (one) => one.send(await one.signIn(start, "nina"))));
  assert.deepEqual(
    answers.map(({ status }) => status),
    [303, 303],
    "two tabs make one user",
  );
  const long = visitor();
  assert.equal((await long.send(await long.signIn(start, "long"))).status, 303);
  const pat = visitor();
  assert.equal((await pat.send(await pat.signIn(start, "pat"))).status, 303);
  const { data } = (await here.send("GET", "/v1/users")).body;
  const people: string[] = data.map(({ name, role }: { name: string; role: string }) => `${name}: ${role}`);
  assert.deepEqual(people.filter((one) => /^(nina|long)/i.test(one)).sort(), ["Nina: viewer", "long: viewer"]);
  assert.deepEqual((await here.send("GET", "/v1/invitations")).body.data, []);
  const rows = new Database(database, { readonly: true });
  t.after(() => rows.close());
  const mails = rows.prepare<[], { status: string }>("select status from mails").all();
  assert.deepEqual(
    mails.map(({ status }) => status),
    ["failed"],
    "the link of the invitation is sent no more",
  );
  const entries: Record<string, unknown>[] = (await here.send("GET", "/v1/audit-log?action=users.create")).body.data;
  assert.deepEqual(
    entries.map(({ target, user_id }) => [target, user_id]),
    ["Pat", "long", "Nina"]
      .map((name) => data.find((one: { name: string }) => one.name === name).id)
      .map((id) => [id, id]),
  );
  for (const { via, address, request_id } of entries) {
    assert.deepEqual([via, address], ["dashboard", "127.0.0.1"]);
    assert.ok(request_id);
  }
  assert.equal((await long.send(`${origin}/dashboard/session`)).status, 200);
  assert.equal((await here.send("POST", `/v1/users/${idOf("dora")}/suspend`)).status, 200);
  const dora = visitor();
  assert.equal((await dora.send(await dora.signIn(start, "dora"))).status, 403, "a suspended user is not made again");
  assert.equal((await here.send("DELETE", `/v1/users/${idOf("sally")}`)).status, 204);
  const sally = visitor();
  assert.equal((await sally.send(await sally.signIn(start, "sally"))).status, 303, "but a removed one is");
});

const refused = async (who: Visitor, url: URL | string, sentence: RegExp) => {
  const reply = await who.send(url);
  assert.equal(reply.status, 400, reply.text);
  assert.match(reply.text, sentence);
  assert.doesNotMatch(reply.headers.get("set-cookie") ?? "", /=\w{43};/);
};

test("an answer of the issuer is good once, and in the browser that began", async (t) => {
  const { start } = await signingIn(t);
  const dora = visitor();
  const callback = await dora.signIn(start, "dora");
  await refused(visitor(), callback, /No sign-in is under way in this browser/);
  const foreign = visitor();
  await foreign.send(start);
  await refused(foreign, callback, /belongs to another sign-in/);

  const kept = new Map(dora.jarOf(callback.origin));
  const restored = () => {
    for (const [name, value] of kept) dora.jarOf(callback.origin).set(name, value);
  };
  const twice = new URL(callback);
  twice.searchParams.append("state", "more");
  await refused(dora, twice, /another sign-in/);
  restored();
  for (const [name, value] of kept) dora.jarOf(callback.origin).set(name, value.replace(/^..../, "AAAA"));
  await refused(dora, callback, /No sign-in is under way/);
  restored();
  const [first, second] = await Promise.all([dora.send(callback), dora.send(callback)]);
  assert.deepEqual([first.status, second.status].sort(), [303, 400], "of two at once, one comes in");
  restored();
  await refused(dora, callback, /was used already/);

  // The same code in another sign-in: the issuer refuses it.
  const other = visitor();
  const again = other.located(await other.send(start)).searchParams;
  const replayed = new URL(callback);
  replayed.searchParams.set("state", again.get("state") ?? "");
  const reply = await other.send(replayed);
  assert.deepEqual([reply.status, /no longer accepts this code/.test(reply.text)], [403, true], reply.text);
});

test("an answer of the issuer is good for ten minutes", onMachineTime, async (t) => {
  let offset = 0;
  const { setTimeout, clearTimeout } = globalThis;
  const real = { setTimeout, clearTimeout, now: Date.now, monotonic: performance.now.bind(performance) };
  replaceSystemTime({ ...real, now: () => Date.now() + offset });
  t.after(() => replaceSystemTime(real));
  let told = () => {};
  const ignore = () => {};
  const logger = { error: ignore, warn: () => told(), info: ignore, debug: ignore };
  const { here, start } = await signingIn(t, { options: { logger } });
  const dora = visitor();
  const late = await dora.signIn(start, "dora");
  const followed = new Promise<void>((resolve) => {
    told = resolve;
  });
  offset = milliseconds("11m");
  // Reading the clock makes it notice the machine's new time; it logs a line once it has followed.
  here.service.clock.now();
  await followed;
  await refused(dora, late, /took longer than ten minutes/);
});

test("a refusal of the issuer is a page, and it repeats nothing that a stranger could have written", async (t) => {
  const { here, start } = await signingIn(t);
  for (const [error, sentence] of [
    ["access_denied", /Acme ID refused the sign-in: access_denied\./],
    ["<b>call 0800", /Acme ID refused the sign-in: for no known reason\./],
  ] as const) {
    const dora = visitor();
    const { origin: iss, searchParams } = dora.located(await dora.send(start));
    const state = searchParams.get("state") ?? "";
    const query = new URLSearchParams({ error, error_description: "Call 0800", state, iss });
    const reply = await dora.send(`${start}/callback?${query}`);
    assert.equal(reply.status, 403, reply.text);
    assert.match(reply.text, sentence);
    assert.doesNotMatch(reply.text, /0800/);
  }
  const { data } = (await here.send("GET", "/v1/audit-log?action=sign-in.refused")).body;
  assert.equal(data.length, 2, "each has an entry of the organization that the option names");
});
