import assert from "node:assert/strict";
import { test } from "node:test";
import { visitor } from "../helpers/issuer.ts";
import { signingIn } from "../helpers/signing-in.ts";

test("a sign-in leads to a page of this dashboard alone", async (t) => {
  const { start } = await signingIn(t);
  for (const to of [
    "https://evil.test/dashboard",
    "//evil.test/dashboard",
    "/\\evil.test/dashboard",
    "/dashboard/../v1/projects",
    "/dashboardevil",
    "/dashboard/oidc",
    "javascript:alert(1)",
    `/dashboard/${"x".repeat(2000)}`,
    "/dashboard/%0d%0aset-cookie:a=b",
  ]) {
    const dora = visitor();
    const reply = await dora.send(await dora.signIn(`${start}?to=${encodeURIComponent(to)}`, "dora"));
    assert.equal(reply.status, 303);
    const leads = reply.headers.get("location") ?? "";
    assert.ok(leads === "/dashboard" || leads === "/dashboard/%0d%0aset-cookie:a=b", `${to}: ${leads}`);
  }
});
