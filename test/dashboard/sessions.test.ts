import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { WebSocket } from "ws";
import { replaceSystemTime } from "../../lib/kernel/node/system.ts";
import { milliseconds } from "../../lib/kernel/text/duration.ts";
import { foundIn, word } from "../helpers/canaries.ts";
import { isPostgres, onMachineTime } from "../helpers/engine.ts";
import { member, withMembers } from "../helpers/members.ts";
import { type ListeningWorld, listeningWorld } from "../helpers/raw-sockets.ts";
import { parse } from "../helpers/server-sent-events.ts";
import { folderOf } from "../helpers/temporary-store.ts";
import { expect, keyOf } from "../helpers/test-service.ts";

const hosted = { mode: "start", clock: "real", random: undefined, rateLimit: 0, addressRateLimit: 0 } as const;
const json = { "content-type": "application/json" };

async function signIn({ send }: ListeningWorld, key: string): Promise<string> {
  const { headers, status, text } = await send("POST", "/dashboard/session", {
    headers: json,
    body: JSON.stringify({ key }),
  });
  assert.equal(status, 201, text);
  return headers["set-cookie"]?.[0]?.split(";", 1)[0] ?? "";
}

const idOf = async ({ call }: ListeningWorld, kind: "users" | "api-keys", wanted: string) => {
  const { data } = expect(await call("owner", "GET", `/v1/${kind}`), 200);
  return data.find(({ name }: { name: string }) => name === wanted).id as string;
};

const ends: Readonly<Record<string, (here: ListeningWorld, cookie: string, database: string) => unknown>> = {
  signed_out: (here, cookie) => here.send("DELETE", "/dashboard/session", { headers: { cookie } }),
  revoked: async (here) => here.call("owner", "DELETE", `/v1/api-keys/${await idOf(here, "api-keys", "revoked")}`),
  suspended: async (here) => here.call("owner", "POST", `/v1/users/${await idOf(here, "users", "suspended")}/suspend`),
  removed: async (here) => here.call("owner", "DELETE", `/v1/users/${await idOf(here, "users", "removed")}`),
  elsewhere: (_here, _cookie, database) => {
    const other = new Database(database);
    other.prepare("delete from api_keys where name = 'elsewhere'").run();
    other.close();
  },
};

test("a session that ends closes its live connection and what it follows, and opens nothing any more", async (t) => {
  const seed = withMembers(
    ...Object.keys(ends).map((name) => ({
      ...member(name, "developer"),
      keys: [{ name, key: `sk_live_${name}` }],
    })),
  );
  const database = join(folderOf(t), "svc.db");
  const here = await listeningWorld(t, { ...hosted, seed, database });
  const { id: project } = await here.project();
  // The log of the second deployment stays open, because that deployment waits for the first.
  const [, queued] = [await here.deploy(project), await here.deploy(project)];
  await Promise.all(
    Object.entries(ends).map(async ([name, end]) => {
      const cookie = await signIn(here, `sk_live_${name}`);
      const socket = new WebSocket(`ws://127.0.0.1:${here.port}/dashboard/live`, { headers: { cookie } });
      await once(socket, "message");
      const closed = once(socket, "close");
      const path = `/dashboard/api/deployments/${queued.id}/logs?follow=true`;
      const followed = await fetch(`http://127.0.0.1:${here.port}${path}`, { headers: { cookie } });
      assert.equal(followed.status, 200, name);
      await end(here, cookie, database);
      assert.equal((await closed)[0], 4401, name);
      assert.equal((await here.send("GET", "/dashboard/api/me", { headers: { cookie } })).status, 401, name);
      const last = parse(await followed.text()).at(-1);
      assert.deepEqual([last?.event, last?.data.code], ["problem", "unauthorized"], name);
    }),
  );
});

test("a suspension ends sign-ins for good; after the reactivation, the person signs in again", async (t) => {
  const here = await listeningWorld(t, { ...hosted, seed: withMembers(member("away", "developer")) });
  const status = async (cookie: string) =>
    (await here.send("GET", "/dashboard/session", { headers: { cookie } })).status;
  const cookie = await signIn(here, "sk_live_away");
  const id = await idOf(here, "users", "away");
  for (const move of ["suspend", "reactivate"]) {
    expect(await here.call("owner", "POST", `/v1/users/${id}/${move}`), 200);
    assert.equal(await status(cookie), 401, move);
  }
  assert.equal(await status(await signIn(here, "sk_live_away")), 200);
});

test("a key that is revoked during the sign-in opens no session", async (t) => {
  const here = await listeningWorld(t, hosted);
  const { id, key } = expect(await here.call("owner", "POST", "/v1/api-keys", { name: "brief" }), 201);
  const body = JSON.stringify({ key });
  const [, signedIn] = await Promise.all([
    here.call("owner", "DELETE", `/v1/api-keys/${id}`),
    here.service.fetch("/dashboard/session", { method: "POST", headers: { ...json, host: "localhost" }, body }),
  ]);
  // On PostgreSQL the sign-in may commit first; its session then ends with the key.
  const [cookie = ""] = (signedIn.headers.get("set-cookie") ?? "").split(";");
  const { status } = await here.send("GET", "/dashboard/session", { headers: { cookie } });
  assert.deepEqual([isPostgres || signedIn.status === 401, status], [true, 401]);
});

test("a session ends with the time of its key, and thirty days after its sign-in", onMachineTime, async (t) => {
  let offset = 0;
  const { setTimeout, clearTimeout } = globalThis;
  const real = { setTimeout, clearTimeout, now: Date.now, monotonic: performance.now.bind(performance) };
  replaceSystemTime({ ...real, now: () => Date.now() + offset });
  t.after(() => replaceSystemTime(real));
  let told = () => {};
  const ignore = () => {};
  const logger = { error: ignore, warn: () => told(), info: ignore, debug: ignore };
  const expires_at = new Date(Date.now() + milliseconds("1h")).toISOString();
  const seed = withMembers(member("brief", "viewer", { expires_at }));
  const here = await listeningWorld(t, { ...hosted, logger, seed });
  const cookie = await signIn(here, keyOf("owner"));
  const brief = await signIn(here, "sk_live_brief");
  const socket = new WebSocket(`ws://127.0.0.1:${here.port}/dashboard/live`, { headers: { cookie: brief } });
  await once(socket, "message");
  const closed = once(socket, "close");
  const statusAfter = async (wait: number) => {
    const followed = new Promise<void>((resolve) => {
      told = resolve;
    });
    offset += wait;
    // Reading the clock makes it notice the machine's new time; it logs a line once it has followed.
    here.service.clock.now();
    await followed;
    return (await here.send("GET", "/dashboard/session", { headers: { cookie } })).status;
  };
  assert.equal(await statusAfter(milliseconds("30d") - 60_000), 200);
  assert.equal((await closed)[0], 4401);
  assert.equal((await here.send("GET", "/dashboard/session", { headers: { cookie: brief } })).status, 401);
  assert.equal(await statusAfter(61_000), 401);
});

test("no secret of a session is in an answer, the live connection, the log or a file", async (t) => {
  const folder = folderOf(t);
  const shown = new Map<string, string | Buffer>();
  const logged: string[] = [];
  const note = (...entry: unknown[]) => void logged.push(JSON.stringify(entry));
  const here = await listeningWorld(t, {
    ...hosted,
    database: join(folder, "svc.db"),
    logger: { error: note, warn: note, info: note, debug: note },
    logLevel: "debug",
  });
  const cookie = await signIn(here, keyOf("owner"));
  const secrets: Record<string, string> = {
    "the key": keyOf("owner"),
    "the token of the session": cookie.split("=")[1] ?? "",
    "the secret of a webhook": word(),
    "a secret variable": word(),
    "a wrong key": `sk_live_${word()}`,
    "a wrong token": word(),
  };
  const secretOf = (name: string) => secrets[name] ?? assert.fail(name);
  const call = async (method: string, path: string, body?: object, own = cookie) => {
    const { headers, text, ...answer } = await here.send(method, `/dashboard${path}`, {
      headers: { ...json, cookie: own },
      ...(body && { body: JSON.stringify(body) }),
    });
    shown.set(`${shown.size}: ${method} ${path}`, JSON.stringify(headers) + text);
    return { ...answer, text };
  };
  const socket = new WebSocket(`ws://127.0.0.1:${here.port}/dashboard/live`, { headers: { cookie } });
  socket.on("message", (data) => void shown.set(`${shown.size}: the live connection`, String(data)));
  await once(socket, "message");
  const project = (await call("POST", "/api/projects", { name: "web", region: "eu" })).body;
  const hook = { url: "https://hook.example.com/", events: ["*"], secret: secretOf("the secret of a webhook") };
  await call("POST", "/api/webhooks", hook);
  const at = `/api/projects/${project.id}/environments/production`;
  await call("PUT", at, { variables: { TOKEN: { value: secretOf("a secret variable"), secret: true } } });
  await call("POST", `${at}/restart`);
  await call("GET", `${at}/logs`);
  for (const path of [
    "session",
    "api/me",
    "api/webhooks",
    "api/api-keys",
    "api/events",
    "api/organization",
    "projects",
  ])
    await call("GET", `/${path}`);
  await call("GET", `/api${at}`);
  await call("POST", "/session", { key: secretOf("a wrong key") }, "");
  await call("POST", "/session", { key: [secretOf("the key")] }, "");
  await call(
    "GET",
    `/session?key=${secretOf("the key")}`,
    undefined,
    `${cookie.split("=")[0]}=${secretOf("a wrong token")}`,
  );
  await call("DELETE", "/session");
  await once(socket, "close");
  await here.service.close();
  shown.set("the log", logged.join("\n"));
  for (const name of readdirSync(folder))
    if (name.startsWith("svc.db")) shown.set(`the file ${name}`, readFileSync(join(folder, name)));
  assert.ok(
    logged.some((line) => line.includes("/dashboard/api/webhooks")),
    "the log has the requests",
  );
  assert.ok(shown.has("the file svc.db"));
  const leaks = [...shown].flatMap(([place, bytes]) => foundIn(secrets, bytes).map((name) => `${name} is in ${place}`));
  assert.deepEqual(leaks, []);
});
