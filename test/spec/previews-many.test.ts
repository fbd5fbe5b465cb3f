import assert from "node:assert/strict";
import { test } from "node:test";
import { previewing } from "../helpers/pull-requests.ts";
import { expect } from "../helpers/test-service.ts";

test("a preview that keeps too many variables is not deployed and says so, until some are gone", async (t) => {
  const { here, path, pull, environment } = await previewing(t);
  const named = (prefix: string, count: number, value = "x") =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`${prefix}${i}`, value]));
  const put = async (name: string, variables: object) =>
    expect(await here.call("owner", "PUT", `${path}/${name}`, { variables }), 200);
  const count = async () => Object.keys((await environment()).variables).length;
  await put("staging", named("A", 150));
  await pull("opened");
  await put("staging", named("B", 150));
  assert.ok((await pull("synchronize", { commit: "two" }))[0].deployment_id);
  assert.equal(await count(), 300);
  await put("staging", named("C", 1));
  const [told] = await pull("synchronize", { commit: "three" });
  assert.equal(told.deployment_id, null);
  assert.match(told.message, /^pr-7 has over 200 variables, or over 1 MiB of them, that staging does not have; remove/);
  assert.equal(await count(), 300);
  await put("pr-7", named("A", 150));
  assert.ok((await pull("synchronize", { commit: "three" }))[0].deployment_id);
  assert.equal(await count(), 151);
  // The variables of the template alone are never too large, and those of one template before are not, either.
  const long = "x".repeat(32_000);
  await put("pr-7", {});
  for (const [prefix, isDeployed] of [
    ["L", true],
    ["M", true],
    ["N", false],
  ] as const) {
    await put("staging", named(prefix, 20, long));
    const [one] = await pull("synchronize", { commit: `long ${prefix}` });
    assert.equal(one.deployment_id !== null, isDeployed, prefix);
  }
});

test("many previews of an integration end in batches", async (t) => {
  const { here, id, path, pull, environment } = await previewing(t);
  for (let number = 1; number <= 60; number++) await pull("opened", { number });
  expect(await here.call("owner", "DELETE", `/v1/integrations/${id}`), 204);
  assert.equal((await environment("pr-1"))?.preview, undefined);
  const left = async () =>
    expect(await here.call("viewer", "GET", `${path}?per_page=100`), 200).data.filter(
      ({ name }: { name: string }) => name !== "staging",
    ).length;
  assert.equal(await left(), 10);
  await here.service.settle();
  assert.equal(await left(), 0);
});
