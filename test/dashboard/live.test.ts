import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { WebSocket } from "ws";
import { listeningWorld } from "../helpers/raw-sockets.ts";
import { expect } from "../helpers/test-service.ts";

test("what announces no event reaches other tabs too", async (t) => {
  const { port, call, project } = await listeningWorld(t);
  const { id } = await project();
  const socket = new WebSocket(`ws://127.0.0.1:${port}/dashboard/live`);
  t.after(() => socket.terminate());
  const told: string[] = [];
  let heard = () => {};
  socket.on("message", (text) => {
    const { kind, id, event } = JSON.parse(String(text));
    told.push(`${kind} ${event ?? id}`);
    heard();
  });
  await once(socket, "message");
  /** Makes a call and waits until the page hears of this record. */
  const tells = async (of: string, method: string, path: string, body?: object) => {
    told.length = 0;
    const reply = await call("owner", method, `/v1${path}`, body);
    assert.ok(reply.status < 300, reply.text);
    const wanted = () => told.some((one) => one.startsWith(`record ${of}`));
    while (!wanted()) {
      await new Promise<void>((resolve) => {
        heard = resolve;
      });
    }
    return reply.body;
  };

  await tells(id, "PUT", `/projects/${id}`, { description: "The till" });
  await tells(id, "POST", `/projects/${id}/archive`);
  await tells(id, "PUT", `/projects/${id}/environments/production`, { variables: { PORT: "1" } });
  await tells(id, "DELETE", `/projects/${id}/environments/production`);
  const hook = await tells("wh_", "POST", "/webhooks", { url: "https://a.inbox.test/", events: ["*"] });
  await tells(hook.id, "PATCH", `/webhooks/${hook.id}`, { status: "inactive" });
  await tells(hook.id, "DELETE", `/webhooks/${hook.id}`);
  await tells("key_", "POST", "/api-keys", { name: "ci" });
  await tells("org_", "PUT", "/organization", { name: "acme two" });
  const invited = expect(
    await call("owner", "POST", "/v1/users/invite", { email: "x@acme.test", role: "viewer" }),
    201,
  );
  await tells(invited.id, "POST", `/invitations/${invited.id}/resend`);
  const { data } = expect(await call("nobody", "GET", "/_svc/mail"), 200);
  const { token, link, text } = data.at(-1);
  assert.equal(link, `http://127.0.0.1:${port}/dashboard/accept#${token}`);
  assert.ok(text.includes(link), text);
  await tells(invited.id, "POST", "/invitations/accept", { token, name: "Grace" });
});

test("pictures of the page leave no trace, and metrics are for owners and admins", async (t) => {
  const { call, send, service } = await listeningWorld(t);
  const made = expect(
    await call("owner", "POST", "/v1/generations", { model: "image-draft", prompt: "a hill", resolution: "512" }),
    201,
  );
  await service.clock.advance("10s");
  const { output } = expect(await call("owner", "GET", `/v1/generations/${made.id}`), 200);
  const { pathname, search } = new URL(output.url);
  const before = service.journal.list().length;
  const path = pathname.replace("/assets/", "/dashboard/media/") + search;
  const picture = await send("GET", path, { headers: {} });
  assert.deepEqual([picture.status, picture.headers["content-type"]], [200, "image/png"]);
  assert.equal((await send("GET", path.replace("signature=", "signature=x"), { headers: {} })).status, 403);
  const people = (await send("GET", "/dashboard/session/people", { headers: {} })).body.data;
  const as = async (role: string) => {
    const { person } = people.find((one: { role: string }) => one.role === role);
    return send("GET", "/dashboard/session/metrics", { headers: { "x-svc-person": person } });
  };
  const seen = await as("admin");
  assert.equal(seen.status, 200);
  assert.ok(seen.body.data.at(-1).memory_bytes > 1e6);
  assert.equal((await as("viewer")).status, 403);
  assert.equal(service.journal.list().length, before);
});
