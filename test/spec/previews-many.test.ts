import assert from "node:assert/strict";
import { test } from "node:test";
import { previewing } from "../helpers/pull-requests.ts";
import { expect } from "../helpers/test-service.ts";

test("a preview whose own variables and the copied ones are too many says so, and is deployed once some are gone", async (t) => {
  const { here, path, pull, environment } = await previewing(t);
  const named = (prefix: string, count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`${prefix}${i}`, "x"]));
  const template = (variables: object) => here.call("owner", "PUT", `${path}/staging`, { variables });
  expect(await template(named("A", 150)), 200);
  await pull("opened");
  expect(await template(named("B", 51)), 200);
  const [told] = await pull("synchronize", { commit: "two" });
  assert.equal(told.deployment_id, null);
  assert.match(told.message, /^pr-7 has too many variables of its own to get those of staging, too; remove some/);
  assert.equal(Object.keys((await environment()).variables).length, 150);
  expect(await here.call("owner", "PUT", `${path}/pr-7`, { variables: named("A", 149) }), 200);
  const [after] = await pull("synchronize", { commit: "two" });
  assert.ok(after.deployment_id);
  assert.equal(Object.keys((await environment()).variables).length, 200);
  // As large as the texts may be: those of the template alone always fit.
  const long = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`L${i}`, "x".repeat(32_000)]));
  const longer = Object.fromEntries(Object.entries(long).map(([key, value]) => [`M${key}`, value]));
  const longest = Object.fromEntries(Object.entries(long).map(([key, value]) => [`N${key}`, value]));
  expect(await here.call("owner", "PUT", `${path}/pr-7`, { variables: {} }), 200);
  for (const [i, variables] of [long, longer, longest].entries()) {
    expect(await template(variables), 200);
    const [one] = await pull("synchronize", { commit: `long-${i}` });
    assert.equal(one.deployment_id === null, i === 2, one.message);
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
