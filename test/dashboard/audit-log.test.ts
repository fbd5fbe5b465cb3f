import assert from "node:assert/strict";
import { test } from "node:test";
import { operations } from "../../lib/composition/operations.ts";
import { browser, noBrowser } from "../helpers/browser.ts";
import { controlsOf, cutAt, dashboardPage, findingsOf } from "../helpers/dashboard-page.ts";
import { member, withMembers } from "../helpers/members.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";
import { expect, keyOf } from "../helpers/test-service.ts";

const json = { "content-type": "application/json" };
const hosted = { mode: "start", clock: "real", random: undefined } as const;

test("A refused sign-in has an entry of the key's organization, or of the only one, and an accepted one has none", async (t) => {
  const here = await listeningWorld(t, {
    ...hosted,
    seed: withMembers(member("late", "viewer", { expires_at: "2020-01-01T00:00:00Z" })),
  });
  const signIn = (key: string) =>
    here.send("POST", "/dashboard/session", {
      headers: { ...json, "x-request-id": "sign-in" },
      body: JSON.stringify({ key }),
    });
  const refused = async () => expect(await here.call("owner", "GET", "/v1/audit-log?action=sign-in.refused"), 200).data;
  assert.equal((await signIn(keyOf("owner"))).status, 201);
  assert.deepEqual(await refused(), []);
  assert.equal((await signIn("sk_live_late")).status, 401);
  const [entry] = await refused();
  const { data } = expect(await here.call("owner", "GET", "/v1/users"), 200);
  assert.deepEqual(
    { ...entry, id: "", at: "", key_id: "", request_id: "" },
    {
      id: "",
      at: "",
      action: "sign-in.refused",
      target: null,
      user_id: data.find(({ name }: { name: string }) => name === "late").id,
      key_id: "",
      via: "dashboard",
      address: "127.0.0.1",
      request_id: "",
    },
  );
  assert.match(entry.key_id, /^key_/);
  assert.match(entry.request_id, /^req_/);
  // An unknown key does not show which of the two organizations it concerns.
  assert.equal((await signIn("sk_live_nobody")).status, 401);
  assert.equal((await refused()).length, 1);

  const [acme] = withMembers().organizations;
  const only = await listeningWorld(t, { ...hosted, seed: { organizations: acme ? [acme] : [] } });
  const body = JSON.stringify({ key: "sk_live_nobody" });
  assert.equal((await only.send("POST", "/dashboard/session", { headers: json, body })).status, 401);
  const [unknown] = expect(await only.call("owner", "GET", "/v1/audit-log"), 200).data;
  assert.deepEqual([unknown.action, unknown.user_id, unknown.key_id], ["sign-in.refused", null, null]);
});

test("A change in the dashboard is one of the dashboard, from the address of its client", async (t) => {
  const here = await listeningWorld(t, hosted);
  const { headers } = await here.send("POST", "/dashboard/session", {
    headers: json,
    body: JSON.stringify({ key: keyOf("admin") }),
  });
  const cookie = headers["set-cookie"]?.[0]?.split(";", 1)[0] ?? "";
  const body = JSON.stringify({ name: "web", region: "eu-west-1" });
  const made = await here.send("POST", "/dashboard/api/projects", { headers: { ...json, cookie }, body });
  assert.equal(made.status, 201, made.text);
  const [entry] = expect(await here.call("owner", "GET", "/v1/audit-log"), 200).data;
  assert.deepEqual([entry.action, entry.via, entry.address], ["projects.create", "dashboard", "127.0.0.1"]);
});

test("The page filters by action and person, goes on by pages, and leads back to the same list", {
  skip: noBrowser,
}, async (t) => {
  const { open } = await browser(t);
  const here = await listeningWorld(t, { seed: withMembers(member("late", "viewer")) });
  for (let i = 0; i < 60; i++)
    expect(await here.call("owner", "POST", "/v1/projects", { name: `web-${i}`, region: "eu-west-1" }), 201);
  const change = { description: "of the admin" };
  const { data } = expect(await here.call("admin", "GET", "/v1/projects"), 200);
  expect(await here.call("admin", "PUT", `/v1/projects/${data[0].id}`, change), 200);
  const page = await dashboardPage(t, open, `http://127.0.0.1:${here.port}`, "/audit-log");
  const { choose, button } = controlsOf(page);
  const rows = page.locator("tbody tr");
  const shows = (count: number) => page.locator(`tbody > tr:last-child:nth-child(${count})`).waitFor();

  await shows(50);
  assert.match((await rows.first().textContent()) ?? "", /projects\.update.*admin.*api/);
  await button("Older").click();
  await shows(11);
  await choose("Action", "projects.update");
  await shows(1);
  await page.reload();
  await shows(1);
  await choose("Person", "owner");
  await page.getByText("No such change.").waitFor();
  await choose("Action", "");
  await shows(50);
  assert.deepEqual(await findingsOf(page), []);
  assert.deepEqual(await cutAt(page, 360), []);

  const branches = ["create", "update", "delete"].map((change) => `branches.${change}`);
  const named = await page.getByLabel("Action", { exact: true }).locator("option").allTextContents();
  const changes = operations.flatMap(({ id, audited }) => (audited ? [id] : []));
  assert.deepEqual(named.sort(), ["All actions", "sign-in.refused", "users.create", ...branches, ...changes].sort());
});
