import assert from "node:assert/strict";
import { test } from "node:test";
import { createService, type SentMail } from "../../lib/index.ts";
import { createTestService, forkTestService } from "../../lib/testing.ts";
import { withSnapshots } from "../helpers/engine.ts";
import { seed, world } from "../helpers/test-service.ts";

/** Compiles only with a string. */
const lengthOf = (text: string) => text.length;

test("the key of a service is a string where each start has one", withSnapshots, async (t) => {
  const plain = await createService({ clock: "manual", database: ":memory:" });
  t.after(plain.close);
  const test = await createTestService(t);
  const given = await createService({ key: "sk_live_demo_given", seed });
  t.after(given.close);
  for (const key of [plain.apiKey, test.apiKey, given.apiKey, (await forkTestService(t, test)).apiKey])
    assert.ok(lengthOf(key) > "sk_live_".length);
  const seeded = await createService({ seed: { organizations: [{ name: "acme" }] } });
  t.after(seeded.close);
  // @ts-expect-error: the seed names no key
  const none: string = seeded.apiKey;
  assert.equal(none, null);
});

test("the mails of a service are typed records", async (t) => {
  const { service, call } = await world(t);
  assert.deepEqual(await service.mails(), []);
  await call("owner", "POST", "/v1/users/invite", { email: "bob@acme.test", role: "viewer" });
  const mails: SentMail[] = await service.mails();
  assert.deepEqual(
    mails.map(({ to, sent_at }) => [to, sent_at]),
    [["bob@acme.test", "2026-01-01T00:00:00.000Z"]],
  );
  assert.ok(mails[0]?.link.endsWith(mails[0].token) && mails[0].text.includes(mails[0].token));
  // @ts-expect-error: it has no filter
  const filtered = service.mails("bob@acme.test");
  await assert.rejects(filtered, /mails takes no arguments; it answers the mails of all organizations/);
  const started = await createService({ mode: "start" });
  t.after(started.close);
  await assert.rejects(started.mails(), /instruments are for the mode dev/);
});
