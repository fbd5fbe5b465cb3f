import assert from "node:assert/strict";
import { test } from "node:test";
import { browser, noBrowser } from "../helpers/browser.ts";
import { controlsOf, dashboardPage, findingsOf } from "../helpers/dashboard-page.ts";
import { isLong } from "../helpers/properties.ts";
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
    headers: { Authorization: "Bearer hush-4", "X-Shop-Auth": "hush-9" },
  };
  expect(await call("owner", "POST", "/v1/webhooks", secrets), 201);
  const variables = { PLAIN: "seen", DATABASE_URL: { value: "hush-5", secret: true }, API_KEY: "hush-6" };
  expect(await call("owner", "PUT", `/v1/projects/${id}/environments/production`, { variables }), 200);
  const made = expect(await call("owner", "POST", "/v1/api-keys", { name: "ci" }), 201);
  const hook = { url: "https://chat.inbox.test/services/hush-7", channel: "#a" };
  await call("owner", "POST", "/v1/integrations", { type: "chat", config: { webhook_url: hook.url } });
  await call("owner", "GET", `/v1/api-keys/${made.key}?token=hush-8`);
  const marked = { DATABASE_URL: { value: "hush-10", secret: true } };
  await call("owner", "PUT", `/v1/projects/${id}`, { variables: marked, description: "x".repeat(70_000) });
  await call("nobody", "GET", "/v1/projects/proj_nowhere");
  await call("stranger", "GET", "/v1/me");

  const list = async (query = "", headers = {}) =>
    (await send("GET", `/dashboard/session/requests${query}`, { headers })).body.data;
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
    all.map(
      async ({ number }: { number: number }) =>
        (await send("GET", `/dashboard/session/requests/${number}`, { headers: {} })).body,
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
  assert.deepEqual(await paths("?status=error"), [
    "/v1/projects/proj_nowhere",
    `/v1/projects/${id}`,
    "/v1/api-keys/sk_live_[redacted]?token=%5Bredacted%5D",
  ]);
  assert.deepEqual(await paths(`?method=POST&search=${id}`), ["/v1/projects"]);
  assert.deepEqual(await paths(`?before=${first.number + 1}`), ["/v1/projects"]);
  assert.deepEqual(await paths(`?search=${first.request_id}`), ["/v1/projects"]);
  assert.equal((await send("GET", "/dashboard/session/requests?status=9", { headers: {} })).status, 422);

  // A restore takes the state back, but the calls have happened.
  await service.reset();
  assert.equal((await list()).length, 8);
  const { data: people } = (await send("GET", "/dashboard/session/people", { headers: {} })).body;
  const viewer = people.find(({ role }: { role: string }) => role === "viewer").person;
  const refused = await send("GET", "/dashboard/session/requests", { headers: { "x-svc-person": viewer } });
  assert.equal(refused.status, 403);
});

test("what changes by the control interface is among the requests, without bodies; its reads are not", async (t) => {
  const { send, call } = await listeningWorld(t);
  const fault = { respond: { status: 503 }, match: { path: "/v1/nowhere" } };
  expect(await call("nobody", "POST", "/_svc/faults", fault), 200);
  expect(await call("nobody", "GET", "/_svc/faults"), 200);
  const { data } = (await send("GET", "/dashboard/session/requests", { headers: {} })).body;
  assert.deepEqual(
    data.map(({ method, path, status }: Record<string, unknown>) => [method, path, status]),
    [["POST", "/_svc/faults", 200]],
  );
  const one = (await send("GET", `/dashboard/session/requests/${data[0].number}`, { headers: {} })).body;
  assert.deepEqual([one.has_bodies, one.body, one.answer], [false, null, null]);

  expect(await call("owner", "POST", "/v1/projects", { name: "x" }), 422);
  const found = async (query: string) =>
    (await send("GET", `/dashboard/session/requests?${query}`, { headers: {} })).body.data.map(
      (one: Record<string, unknown>) => [one["path"], one["code"]],
    );
  assert.deepEqual(await found("calls=control"), [["/_svc/faults", null]]);
  assert.deepEqual(await found("calls=api"), [["/v1/projects", "validation_failed"]]);
  assert.deepEqual(await found("search=Validation_failed"), [["/v1/projects", "validation_failed"]]);
});

test("start: requests are listed without bodies, and those without a key for nobody", async (t) => {
  const { send, call } = await listeningWorld(t, hostedOptions);
  const body = JSON.stringify({ key: keyOf("owner") });
  const signedIn = await send("POST", "/dashboard/session", { headers: { "content-type": "application/json" }, body });
  const [line = ""] = signedIn.headers["set-cookie"] ?? [];
  const headers = { cookie: line.split(";", 1)[0] ?? "", authorization: "" };
  await call("owner", "POST", "/v1/projects", { name: "shop", region: "eu-west-1" });
  await call("nobody", "GET", "/v1/me");
  const { data, next } = (await send("GET", "/dashboard/session/requests", { headers })).body;
  assert.deepEqual([data.map(({ path }: { path: string }) => path), next], [["/v1/projects"], null]);
  const { body: one } = await send("GET", `/dashboard/session/requests/${data[0].number}`, { headers });
  assert.deepEqual([one.has_bodies, one.body, one.answer], [false, null, null]);
});

test("Chromium: requests and receivers", {
  skip: noBrowser || (!isLong && "npm run test:dashboard runs it"),
}, async (suite) => {
  const { open } = await browser(suite);

  await suite.test("from an error to its request, and from a request to what it caused, and back", async (t) => {
    const { port, service, call, project, deploy } = await listeningWorld(t);
    await call("owner", "POST", "/v1/webhooks", {
      url: "https://shop.inbox.test/hooks",
      events: ["*"],
      secret: "hush",
    });
    const { id } = await project();
    const [first, second] = [await deploy(id), await deploy(id, { environment: "staging" })];
    await call("owner", "POST", "/v1/projects", { name: "x", region: "eu-west-1" });
    await service.clock.advance("1m");
    const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`, "/requests");
    const { button, choose, sees } = controlsOf(page);
    await sees("POST /v1/projects");
    await call("nobody", "POST", "/_svc/faults", { respond: { status: 503 }, match: { path: "/v1/no" } });
    await choose("Calls", "Calls of the API");
    await page.getByText("POST /_svc/faults").waitFor({ state: "detached" });
    await choose("Status", "Errors");
    await page.getByRole("row", { name: "POST /v1/projects" }).getByText("422 validation_failed").waitFor();
    await page.getByRole("link", { name: "POST /v1/projects", exact: true }).click();
    await sees("validation_failed");
    await page.locator("dd").getByText("owner").first().waitFor();
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await button("Copy as curl").click();
    await button("Copied").waitFor();
    const curl = await page.evaluate<string>("navigator.clipboard.readText()");
    assert.match(curl, /^curl -X POST http:\/\/127\.0\.0\.1:\d+\/v1\/projects/);
    assert.match(curl, /Bearer \$SVC_API_KEY[\s\S]*"name":"x"/);

    await page.goto(`http://127.0.0.1:${port}/dashboard/deployments/${first.id}`);
    await page.getByRole("link", { name: "Requests about it" }).click();
    await page.getByRole("link", { name: "POST /v1/deployments", exact: true }).click();
    const event = page.getByRole("row").filter({ hasText: "deployment.queued" });
    await event.getByRole("link", { name: "shop.inbox.test" }).waitFor();
    assert.equal(await event.getByRole("link").count(), 1, `the delivery of ${second.id} is not its own`);
    await event.getByRole("link").click();
    await sees("about");
    await page.getByRole("link", { name: "Requests about it" }).click();
    await page.getByRole("link", { name: "POST /v1/deployments", exact: true }).click();
    await page.locator("dd").getByRole("link", { name: first.id }).click();
    await page.waitForURL(`**/deployments/${first.id}`);
    assert.deepEqual(await findingsOf(page), []);
  });

  await suite.test("in start the list of requests follows what programs call", async (t) => {
    const { port, call } = await listeningWorld(t, hostedOptions);
    const page = await open("about:blank");
    await page.clock.install();
    await page.goto(`http://127.0.0.1:${port}/dashboard/requests`);
    const { button, fill, sees } = controlsOf(page);
    await fill("API key", keyOf("owner"));
    await button("Sign in").click();
    await sees("No program has called in the last hour.");
    expect(await call("owner", "GET", "/v1/me"), 200);
    await page.clock.runFor(5_000);
    await page.getByRole("link", { name: "GET /v1/me", exact: true }).waitFor();
    await page.close();
  });

  await suite.test("a receiver that turned itself off says when and why, and is turned on again", async (t) => {
    const { port, service, call, project } = await listeningWorld(t);
    const hook = { url: "https://shop.inbox.test/hooks", events: ["*"] };
    const { id } = expect(await call("owner", "POST", "/v1/webhooks", hook), 201);
    await project("one");
    await service.settle();
    service.inbox.script("shop", Array(6).fill(503));
    await project("two");
    await service.clock.advance("1d");
    await project("three");
    const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`, "/webhooks");
    const row = page.getByRole("row").filter({ hasText: "shop.inbox.test" });
    // One of seven attempts was accepted.
    await row.getByText("14 %").waitFor();
    await row.getByText("503").waitFor();
    await row.getByRole("link").click();
    await page.getByText("The service turned it off").waitFor();
    await page.getByText("503, 503, 503, 503, 503, 503").waitFor();
    await page.getByText("was tried 6 times and never accepted", { exact: false }).waitFor();
    assert.deepEqual(await findingsOf(page), []);
    await page.getByRole("button", { name: "Turn on and recover" }).click();
    await page.getByText("The service turned it off").waitFor({ state: "detached" });
    const due = page.getByRole("cell", { name: "Due now. The clock stands: it is sent as soon as the clock moves." });
    await due.first().waitFor();
    await service.settle();
    const { data } = expect(await call("owner", "GET", `/v1/webhooks/${id}/deliveries`), 200);
    assert.deepEqual(
      data.map(({ status }: { status: string }) => status),
      ["succeeded", "succeeded", "succeeded"],
    );
  });

  await suite.test("a deployment is begun from every list, and shows its phases and what changed", async (t) => {
    const { port, service, project, deploy } = await listeningWorld(t);
    const { id } = await project("shop");
    await deploy(id);
    await service.clock.advance("1m");
    await service.scenarios.next("deployment", { result: "fail", at: "deploying", message: "the port is taken" });
    const page = await dashboardPage(t, open, `http://127.0.0.1:${port}`, "/deployments");
    const { button, submit, fill, sees } = controlsOf(page);
    await button("New deployment").click();
    await sees("Now live: main");
    assert.equal(await page.getByLabel("Repository").inputValue(), "acme/web");
    await fill("Tag", "v2.0.0");
    await submit("Deploy");
    await page.getByRole("heading", { name: "shop to production" }).waitFor();
    await service.clock.advance("1m");
    await page.locator(".facts .status").getByText("failed").waitFor();
    const states = page.getByRole("list", { name: "States" });
    const texts = await states.getByRole("listitem").allInnerTexts();
    assert.deepEqual(
      texts.map((text) => text.replaceAll(/\s+/g, " ").trim()),
      ["queued 00:01:00 · 1 s", "building 00:01:01 · 3 s", "deploying 00:01:04 · 2 s", "failed 00:01:06"],
    );
    await sees("branch or tag main → v2.0.0");
    await sees("· dashboard");
    await button("Redeploy").click();
    await sees("is deployed to production again");
    await submit("Redeploy");
    await page.locator(".facts .status").getByText("queued").waitFor();
    await service.clock.advance("1m");
    await page.locator(".facts .status").getByText("active").waitFor();
    await page.getByRole("link", { name: "Deployments", exact: true }).click();
    const row = page.getByRole("row").filter({ hasText: "v2.0.0" });
    await row.first().getByText("acme/web", { exact: false }).waitFor();
    await row.first().getByText("owner").waitFor();
    assert.equal(await row.first().getByRole("button", { name: "Redeploy" }).isEnabled(), true);
  });
});
