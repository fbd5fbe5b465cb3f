import assert from "node:assert/strict";
import { test } from "node:test";
import { expect, world } from "../helpers/test-service.ts";
import { until } from "../helpers/until.ts";

test("an organization sends eight mails at once, however many wait; another one does not wait", async (t) => {
  const going: { readonly to: string; readonly end: () => void }[] = [];
  const sent: string[] = [];
  const here = await world(t, {
    clock: "real",
    mail: async ({ to }) => {
      await new Promise<void>((end) => void going.push({ to, end }));
      sent.push(to);
    },
  });
  const invite = async (who: "owner" | "stranger", email: string) =>
    expect(await here.call(who, "POST", "/v1/users/invite", { email, role: "viewer" }), 201);
  const ask = () => here.call("viewer", "GET", "/v1/me");
  for (let i = 0; i < 30; i++) await invite("owner", `a${i}@example.com`);
  await until(() => going.length === 8, ask);
  await invite("stranger", "b@example.com");
  await until(() => going.length === 9, ask);
  assert.equal(going[8]?.to, "b@example.com");
  for (let i = 0; i < 100; i++) await ask();
  assert.equal(going.length, 9, "the others wait");
  let ended = 0;
  const next = () => {
    for (; ended < going.length; ended++) going[ended]?.end();
    return ask();
  };
  await until(() => sent.length === 31, next);
  assert.equal(new Set(sent).size, 31);
});
