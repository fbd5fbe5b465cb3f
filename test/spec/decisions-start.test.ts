import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Log } from "../../lib/index.ts";
import { withSnapshots } from "../helpers/engine.ts";
import { member, withMembers } from "../helpers/members.ts";
import { folderOf } from "../helpers/temporary-store.ts";
import { expect, seed, world } from "../helpers/test-service.ts";

/** Decisions of test/spec/README.md that no other file tests: starts, time, and the contents of the package. */

/** A logger that collects warnings. */
function warnings(): { told: string[]; logger: Log } {
  const told: string[] = [];
  const none = () => {};
  return { told, logger: { error: none, info: none, debug: none, warn: (message) => void told.push(message) } };
}

test("a try that a shutdown cuts off counts as failed", async (t) => {
  const database = join(folderOf(t), "svc.db");
  const here = await world(t, { database, clock: "manual" });
  const hook = { url: "https://hook.inbox.test", events: ["project.created"] };
  const { id } = expect(await here.call("owner", "POST", "/v1/webhooks", hook), 201);
  here.service.inbox.script("hook", [{ timeout: true }]);
  await here.project();
  await here.service.settle();
  await here.service.close();
  const next = await world(t, { database, clock: "manual" });
  await next.service.clock.advance("10s");
  const [{ status, attempts }] = expect(await next.call("owner", "GET", `/v1/webhooks/${id}/deliveries`), 200).data;
  assert.deepEqual([status, attempts.length, attempts[0].status], ["pending", 1, null]);
  assert.ok(attempts[0].error);
});

test("a seed for a database that is not empty is ignored, with a notice", async (t) => {
  const database = join(folderOf(t), "svc.db");
  await (await world(t, { database })).service.close();
  const { told, logger } = warnings();
  const more = { organizations: [...seed.organizations, { name: "initech", users: [] }] };
  const next = await world(t, { database, seed: more, logger });
  assert.ok(told.some((message) => /seed ignored: the database is not empty/.test(message)));
  await next.service.organizations.create({ name: "initech" });
});

test("a seed that is nested without end is refused with a sentence", async (t) => {
  const deep = JSON.parse(`${"[".repeat(10_000)}${"]".repeat(10_000)}`);
  const circle: Record<string, unknown> = {};
  Object.assign(circle, { one: circle, two: circle });
  for (const more of [deep, circle])
    for (const seed of [{ organizations: more }, { organizations: [{ name: "acme", more }] }])
      await assert.rejects(
        world(t, { seed: seed as never }),
        /^BadSeed: the seed cannot be used: it must not be nested deeper than 32 levels$/,
      );
});

test("a seed's key has a rate limit that the API and the option would take, too", async (t) => {
  const limitedTo = (rate_limit: number) => ({ seed: withMembers(member("busy", "owner", { rate_limit })) });
  await world(t, limitedTo(1_000_000_000));
  for (const wrong of [1_000_000_001, 3_000_000_000, -1, 0.5])
    await assert.rejects(world(t, limitedTo(wrong)), {
      name: "BadSeed",
      message: /^the seed cannot be used: organizations\.0\.users\.\d\.keys\.0\.rate_limit must be .*$/,
    });
});

test("a seed's projects announce no events", async (t) => {
  const [acme, ...others] = seed.organizations;
  assert.ok(acme);
  const projects = [{ name: "web", region: "eu-west-1" }];
  const here = await world(t, { seed: { organizations: [{ ...acme, projects }, ...others] } });
  assert.equal(expect(await here.call("viewer", "GET", "/v1/projects"), 200).data.length, 1);
  assert.deepEqual(await here.events(), []);
});

test("a seed's organization without an active owner is accepted, with a warning", async (t) => {
  const { told, logger } = warnings();
  await world(t, { seed: { organizations: [...seed.organizations, { name: "ownerless", users: [] }] }, logger });
  assert.deepEqual(told, ["an organization of the seed has no active owner"]);
});

test("a name in codeHost.organizations that no organization has gives a warning, and serves once one has it", async (t) => {
  const { told, logger } = warnings();
  const organizations = { ACME: ["acme/*"], globe: ["globe/*"], initech: ["initech/*"] };
  const here = await world(t, { codeHost: { organizations }, logger });
  assert.deepEqual(told, [
    'the option codeHost.organizations names the organization "globe", which does not exist; until it does, that entry has no effect; did you mean globex?',
    'the option codeHost.organizations names the organization "initech", which does not exist; until it does, that entry has no effect',
  ]);
  await here.service.organizations.create({ name: "initech" });
});

test("a stored clock continues where it stopped, and an earlier setting gives a warning", async (t) => {
  const database = join(folderOf(t), "svc.db");
  const first = await world(t, { database });
  await first.service.clock.advance("36h");
  await first.service.close();
  const { told, logger } = warnings();
  const next = await world(t, { database, logger });
  assert.equal(next.service.clock.now().toISOString(), "2026-01-02T12:00:00.000Z");
  assert.equal(told.filter((message) => /clock/.test(message)).length, 1, told.join());
});

test(
  "a restore brings back the time of a manual and of a scaled clock, and not that of the machine's",
  withSnapshots,
  async (t) => {
    /** How many real milliseconds the restored clock lags behind a clock that kept running. */
    const behind = async (speed: number) => {
      const { service } = await world(t, { clock: speed === 1 ? "real" : `${speed}x` });
      const { id } = await service.snapshot();
      await service.settle();
      const [before, at] = [service.clock.now().getTime(), performance.now()];
      await service.restore(id);
      return performance.now() - at - (service.clock.now().getTime() - before) / speed;
    };
    assert.ok((await behind(1)) <= 2, "a real clock runs on");
    assert.ok((await behind(100_000)) > 0.05, "a scaled clock goes back");
  },
);

test("durations in the log are the machine's, even while the service's clock stands", async (t) => {
  const durations: unknown[] = [];
  const none = () => {};
  const info: Log["info"] = (_, fields) => void durations.push(fields?.["duration_ms"]);
  const here = await world(t, { logLevel: "info", logger: { error: none, warn: none, debug: none, info } });
  expect(await here.call("owner", "GET", "/v1/me"), 200);
  assert.ok(durations.length === 1 && Number(durations[0]) > 0, String(durations));
});

test("the runtime dependencies are few and listed", () => {
  const { dependencies } = JSON.parse(readFileSync("package.json", "utf8"));
  assert.deepEqual(Object.keys(dependencies).sort(), [
    ...["@jsquash/jpeg", "@jsquash/webp", "better-sqlite3", "h264-mp4-encoder", "valibot", "ws"],
  ]);
});
