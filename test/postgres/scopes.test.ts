import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { openPostgres } from "../../lib/store/postgres/open.ts";
import { deferred } from "../helpers/temporary-store.ts";
import { call, severalServices } from "./several.ts";

/** A write of another organization, on its own connection, that stays open until `end`. */
async function openWrite(t: TestContext, url: string) {
  const { engine } = await openPostgres(url, { isServer: true });
  const [begun, mayEnd] = [deferred(), deferred()];
  const ended = engine.transaction({ organization_id: "org_other" }, async () => {
    begun.open();
    await mayEnd.promise;
  });
  const end = () => {
    mayEnd.open();
    return ended;
  };
  t.after(async () => {
    await end();
    await engine.close();
  });
  await begun.promise;
  return end;
}

test("with a write of another organization open, sign-ins, operators' commands, starts and writes go on", {
  timeout: 60_000,
}, async (t) => {
  const { services, start, url, key } = await severalServices(t, 1);
  const [service] = services;
  assert.ok(service);
  const signIn = async () => {
    const headers = { "content-type": "application/json", host: "localhost" };
    const body = JSON.stringify({ key });
    const response = await service.fetch("/dashboard/session", { method: "POST", headers, body });
    assert.equal(response.status, 201, await response.text());
    return response.headers.get("set-cookie")?.split(";", 1)[0] ?? "";
  };
  const signOut = async (cookie: string) =>
    (await service.fetch("/dashboard/session", { method: "DELETE", headers: { cookie, host: "localhost" } })).status;
  const end = await openWrite(t, url);
  const cookie = await signIn();
  assert.equal(await signOut(cookie), 204);
  await service.organizations.create({ name: "second" });
  await assert.rejects(service.organizations.create({ name: "Second" }), /already the name of another organization/);
  // Another server starts during the write.
  await start();
  const { key: second } = await service.keys.create({ organization: "second" });
  for (const [owner, name] of [
    [key, "web"],
    [second, "shop"],
  ] as const)
    assert.equal((await call(service, owner, "POST", "/v1/projects", { name, region: "eu-west-1" })).status, 201);
  await end();
});
