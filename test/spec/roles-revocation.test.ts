import assert from "node:assert/strict";
import { once } from "node:events";
import { join } from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { rules } from "../helpers/access-table.ts";
import { bearer, jsonBearer } from "../helpers/headers.ts";
import { keepAliveClient } from "../helpers/keep-alive-client.ts";
import { member, withMembers } from "../helpers/members.ts";
import { type ListeningWorld, listeningWorld } from "../helpers/raw-sockets.ts";
import { parse } from "../helpers/server-sent-events.ts";
import { openStream } from "../helpers/stream-client.ts";
import { folderOf } from "../helpers/temporary-store.ts";
import { expect } from "../helpers/test-service.ts";

/** The end of a key also ends everything that it has open. */

const idOf = async ({ call }: ListeningWorld, kind: "users" | "api-keys", wanted: string) => {
  const { data } = expect(await call("owner", "GET", `/v1/${kind}`), 200);
  return data.find(({ name }: { name: string }) => name === wanted).id as string;
};
const expires_at = "2026-01-01T00:00:01Z";

const ends: Readonly<Record<string, (here: ListeningWorld, database: string) => Promise<unknown>>> = {
  revoked: async (here) =>
    expect(await here.call("owner", "DELETE", `/v1/api-keys/${await idOf(here, "api-keys", "revoked")}`), 204),
  suspended: async (here) =>
    expect(await here.call("owner", "POST", `/v1/users/${await idOf(here, "users", "suspended")}/suspend`), 200),
  removed: async (here) =>
    expect(await here.call("owner", "DELETE", `/v1/users/${await idOf(here, "users", "removed")}`), 204),
  expired: (here) => here.service.clock.advance("1s"),
  "ended by another process": async (_, database) => {
    const other = new Database(database);
    other.prepare("delete from api_keys where name = 'ended by another process'").run();
    other.close();
  },
};
const keyFor = (name: string) => `sk_live_${name.replaceAll(" ", "_")}`;

test("a key that ends is refused from the next request on, and all that it has open ends within a second", async (t) => {
  const seed = withMembers(
    ...Object.keys(ends).map((name) => ({
      ...member(name.replaceAll(" ", "."), "developer"),
      name,
      keys: [{ name, key: keyFor(name), ...(name === "expired" && { expires_at }) }],
    })),
  );
  const database = join(folderOf(t), "svc.db");
  const here = await listeningWorld(t, { seed, database, rateLimit: 0, addressRateLimit: 0 });
  const { id } = await here.deploy((await here.project()).id);
  const generation = expect(
    await here.call("owner", "POST", "/v1/generations", { model: "any", resolution: "32x32" }),
    201,
  );
  const stays = openStream(t, here);
  await stays.begun;
  for (const [name, end] of Object.entries(ends)) {
    const headers = bearer(keyFor(name));
    const clients = Array.from({ length: 4 }, () => keepAliveClient(here.port));
    t.after(() => Promise.all(clients.map((client) => client.close())));
    const [next, followed, waiting, painting] = clients.map(
      (client) =>
        (path: string, method = "GET") =>
          client.ask(method, `/v1${path}`, { headers: Object.entries(headers) }),
    );
    assert.ok(next && followed && waiting && painting);
    assert.equal((await next("/me")).status, 200);
    const log = followed(`/deployments/${id}/logs?follow=true`);
    const waits = [waiting(`/deployments/${id}?wait=60`), painting(`/generations/${generation.id}?wait=60`)];
    const stream = openStream(t, here, "", headers);
    const late = openStream(t, here, "", {});
    await late.opened;
    late.socket.send(keyFor(name));
    await Promise.all([stream.begun, late.begun]);
    assert.equal((await next("/me")).status, 200);

    await end(here, database);
    for (const rule of rules.filter(({ scope }) => scope !== "none")) {
      const { status } = await next(rule.path.replaceAll("{}", "unknown"), rule.method);
      assert.equal(status, 401, `${rule.method} ${rule.path} of a key that was ${name}`);
    }
    const at = performance.now();
    assert.deepEqual([(await stream.closed).code, (await late.closed).code], [4401, 4401], name);
    assert.equal(parse((await log).text).at(-1)?.data.code, "unauthorized", name);
    for (const wait of waits) assert.equal((await wait).status, 401, name);
    // The watch looks every second; a busy machine may take longer.
    assert.ok(performance.now() - at < 5_000, name);
  }
  assert.equal(stays.socket.readyState, stays.socket.OPEN, "others stay");
});

test("of the writes that are under way when a key ends, none is done after the answer that says so", async (t) => {
  const here = await listeningWorld(t, {
    seed: withMembers(member("leaver", "admin")),
    rateLimit: 0,
    addressRateLimit: 0,
  });
  const id = await idOf(here, "users", "leaver");
  const clients = Array.from({ length: 4 }, () => keepAliveClient(here.port));
  t.after(() => Promise.all(clients.map((client) => client.close())));
  let sent = 0;
  const write = (client: (typeof clients)[number]) => {
    const body = JSON.stringify({ name: `web ${sent++}`, region: "eu-west-1" });
    return client.ask("POST", "/v1/projects", { headers: Object.entries(jsonBearer("sk_live_leaver")), body });
  };
  const before = Array.from({ length: 200 }, (_, i) => write(clients[i % 4] as (typeof clients)[number]));
  await before[0];
  const ended = await here.send("POST", `/v1/users/${id}/suspend`);
  assert.equal(ended.status, 200);
  const { data } = expect(await here.call("owner", "GET", "/v1/projects?per_page=100"), 200);
  const seen = data.length < 100 ? data.length : undefined;
  const statuses = (await Promise.all([...before, ...clients.map(write)])).map(({ status }) => status);
  assert.deepEqual(statuses.slice(-4), [401, 401, 401, 401]);
  const made = statuses.filter((status) => status === 201).length;
  assert.equal(statuses.filter((status) => status === 401).length, statuses.length - made);
  if (seen !== undefined) assert.equal(made, seen, "what was made was made before the answer");
});

test("a change of role holds from the next request on, and ends no stream", async (t) => {
  const here = await listeningWorld(t, { seed: withMembers(member("mover", "admin")) });
  const id = await idOf(here, "users", "mover");
  const stream = openStream(t, here, "", bearer("sk_live_mover"));
  await stream.begun;
  const client = keepAliveClient(here.port);
  t.after(() => client.close());
  const headers = Object.entries(bearer("sk_live_mover"));
  const statusAs = async (role: string) => {
    expect(await here.call("owner", "PUT", `/v1/users/${id}`, { role }), 200);
    const asked = [
      ["DELETE", "/v1/projects/none"],
      ["POST", "/v1/deployments/none/cancel"],
      ["GET", "/v1/me"],
    ] as const;
    return Promise.all(asked.map(async ([method, path]) => (await client.ask(method, path, { headers })).status));
  };
  assert.deepEqual(await statusAs("developer"), [403, 404, 200]);
  assert.deepEqual(await statusAs("viewer"), [403, 403, 200]);
  assert.deepEqual(await statusAs("admin"), [404, 404, 200]);
  await here.project();
  if (stream.messages.length === 0) await once(stream.socket, "message");
  assert.deepEqual(stream.events(), ["project.created"]);
});
