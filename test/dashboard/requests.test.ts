import assert from "node:assert/strict";
import { test } from "node:test";
import { listeningWorld } from "../helpers/raw-sockets.ts";
import { expect, keyOf } from "../helpers/test-service.ts";

const hostedOptions = { mode: "start", clock: "real", random: undefined } as const;

test("the page's requests: every call with key, person, target and bodies, without secrets, and a filter", async (t) => {
  const { send, call, service, project } = await listeningWorld(t);
  const { id } = await project();
  const secrets = {
    url: "https://shop.inbox.test/hooks?token=hush-2",
    events: ["*"],
    secret: "hush-3",
    headers: { Authorization: "Bearer hush-4" },
  };
  expect(await call("owner", "POST", "/v1/webhooks", secrets), 201);
  const variables = { PLAIN: "seen", DATABASE_URL: { value: "hush-5", secret: true }, API_KEY: "hush-6" };
  expect(await call("owner", "PUT", `/v1/projects/${id}/environments/production`, { variables }), 200);
  const made = expect(await call("owner", "POST", "/v1/api-keys", { name: "ci" }), 201);
  const hook = { url: "https://chat.inbox.test/services/hush-7", channel: "#a" };
  await call("owner", "POST", "/v1/integrations", { type: "chat", config: { webhook_url: hook.url } });
  await call("owner", "GET", "/v1/projects?per_page=7&token=hush-8");
  await call("owner", "PUT", `/v1/projects/${id}`, { description: "x".repeat(70_000) });
  await call("nobody", "GET", "/v1/projects/proj_nowhere");
  await call("stranger", "GET", "/v1/me");

  const list = async (query = "", headers = {}) =>
    expect(await send("GET", `/dashboard/session/requests${query}`, { headers }), 200).data;
  const all = await list();
  assert.equal(all[0].path, "/v1/projects/proj_nowhere");
  assert.deepEqual([all[0].status, all[0].user_id, all[0].key_id, all[0].target], [401, null, null, "proj_nowhere"]);
  assert.equal(all.length, 8, "calls of another organization are not among them");
  const first = all.at(-1);
  assert.deepEqual(
    [first.method, first.path, first.status, first.target, first.at],
    ["POST", "/v1/projects", 201, id, "2026-01-01T00:00:00.000Z"],
  );
  assert.match(`${first.key_id} ${first.user_id}`, /^key_\w+ usr_\w+$/);

  const bodies = await Promise.all(
    all.map(async ({ number }: { number: number }) =>
      expect(await send("GET", `/dashboard/session/requests/${number}`, { headers: {} }), 200),
    ),
  );
  const text = JSON.stringify(bodies);
  assert.doesNotMatch(text, /hush|sk_live_(?!\[redacted\])/);
  assert.match(text, /shop.inbox.test\/hooks|seen/);
  assert.equal(text.includes(made.key), false);
  const [cut] = bodies.filter(({ body }) => body?.is_cut);
  assert.equal(cut.body.text.length, 64 * 1024);
  assert.equal(bodies.at(-1).has_bodies, true);
  assert.equal(JSON.parse(bodies.at(-1).answer.text).id, id);

  const paths = async (query: string) => (await list(query)).map(({ path }: { path: string }) => path);
  assert.deepEqual(await paths("?status=error"), ["/v1/projects/proj_nowhere", `/v1/projects/${id}`]);
  assert.deepEqual(await paths(`?method=POST&search=${id}`), ["/v1/projects"]);
  assert.deepEqual(await paths(`?before=${first.number + 1}`), ["/v1/projects"]);
  assert.deepEqual(await paths(`?search=${first.request_id}`), ["/v1/projects"]);
  assert.equal((await send("GET", "/dashboard/session/requests?status=9", { headers: {} })).status, 422);

  // A restore takes the state back, but the calls have happened.
  await service.reset();
  assert.equal((await list()).length, 8);
  const { data: people } = expect(await send("GET", "/dashboard/session/people", { headers: {} }), 200);
  const viewer = people.find(({ role }: { role: string }) => role === "viewer").person;
  const refused = await send("GET", "/dashboard/session/requests", { headers: { "x-svc-person": viewer } });
  assert.equal(refused.status, 403);
});

test("start: requests are listed without bodies, and those without a key for nobody", async (t) => {
  const { send, call } = await listeningWorld(t, hostedOptions);
  const body = JSON.stringify({ key: keyOf("owner") });
  const signedIn = await send("POST", "/dashboard/session", { headers: { "content-type": "application/json" }, body });
  const [line = ""] = signedIn.headers["set-cookie"] ?? [];
  const headers = { cookie: line.split(";", 1)[0] ?? "", authorization: "" };
  await call("owner", "POST", "/v1/projects", { name: "shop", region: "eu-west-1" });
  await call("nobody", "GET", "/v1/me");
  const { data, next } = expect(await send("GET", "/dashboard/session/requests", { headers }), 200);
  assert.deepEqual([data.map(({ path }: { path: string }) => path), next], [["/v1/projects"], null]);
  const one = expect(await send("GET", `/dashboard/session/requests/${data[0].number}`, { headers }), 200);
  assert.deepEqual([one.has_bodies, one.body, one.answer], [false, null, null]);
});
