import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "../../lib/index.ts";
import { deploymentNow, withOutcomes } from "../helpers/deployments.ts";
import { hasSnapshots } from "../helpers/engine.ts";
import { expect, start, world } from "../helpers/test-service.ts";

test("advanceToNext advances to the next due time, and does nothing when none is left", async (t) => {
  const here = await world(t);
  const { clock } = here.service;
  assert.deepEqual(await clock.advanceToNext(), { now: start, ran: 0 });
  const { id } = await here.project();
  const deployment = await here.deploy(id);
  const states: string[] = [];
  for (let step = await clock.advanceToNext(); step.ran > 0; step = await clock.advanceToNext())
    states.push(`${step.now.slice(17, 19)} ${(await deploymentNow(here, deployment.id)).status}`);
  assert.deepEqual(states, ["01 building", "04 deploying", "06 active"]);
  assert.equal(clock.now().toISOString(), "2026-01-01T00:00:06.000Z");
});

test("runUntilIdle does all that is left to do, however late, and does not wait for what comes every day", async (t) => {
  const here = await world(
    t,
    withOutcomes(() => ({ durations: { building: "60d" } })),
  );
  here.service.inbox.script(
    "hook",
    Array.from({ length: 6 }, () => 500),
  );
  await here.call("owner", "POST", "/v1/webhooks", { url: "https://hook.inbox.test/", events: ["project.created"] });
  const { id } = await here.project();
  const deployment = await here.deploy(id);
  const { now, ran } = await here.service.clock.runUntilIdle();
  assert.equal(now, "2026-03-02T00:00:03.000Z");
  assert.ok(ran > 60, "what comes every day came on the way");
  assert.equal((await deploymentNow(here, deployment.id)).status, "active");
  assert.equal(here.service.inbox.list().length, 6);
  assert.deepEqual(await here.service.clock.runUntilIdle(), { now, ran: 0 });
});

test("runUntilIdle gives up on work that never ends, and says so", async (t) => {
  const step = async () => ({ state: "running", again_ms: 1000, handle: "", logs: [] }) as const;
  const here = await world(t, { deployments: { driver: { delay: () => 0, step } } });
  const { id } = await here.project();
  await here.deploy(id);
  await assert.rejects(here.service.clock.runUntilIdle(), /after 10000 due times.* work still waits/);
});

test("advancing is refused for a running clock, backwards, and by an invalid duration", async (t) => {
  const ran = await world(t, { clock: "real" });
  for (const move of [
    () => ran.service.clock.advance("1s"),
    () => ran.service.clock.advanceToNext(),
    () => ran.service.clock.runUntilIdle(),
  ])
    await assert.rejects(move, (error) => error instanceof Problem && /manual|freeze/.test(error.message));
  const { clock } = (await world(t)).service;
  for (const by of ["-1s", "", "soon", "1", "2h2h2h x"]) await assert.rejects(clock.advance(by), /is not a duration/);
  for (const by of [-1, Number.NaN, Number.POSITIVE_INFINITY, null, undefined, {}, []])
    await assert.rejects(clock.advance(by as unknown as string), /is not a duration such as/);
  for (const to of ["", "tomorrow", "2026-02-30T00:00:00Z", new Date(Number.NaN)])
    await assert.rejects(clock.advanceTo(to), /is not an instant/);
  await assert.rejects(clock.advanceTo("2025-12-31T23:59:59.999Z"), /never goes back/);
  await assert.rejects(clock.advance("9999999d"), /must not be after/);
  assert.equal(clock.now().toISOString(), start);
});

test("freeze stops a running clock, which then is manual; an earlier snapshot makes it run again", async (t) => {
  for (const setting of ["real", "100x"]) {
    const here = await world(t, { clock: setting });
    const { clock } = here.service;
    const kept = hasSnapshots ? await here.service.snapshot() : undefined;
    const { id } = await here.project();
    const deployment = await here.deploy(id);
    clock.freeze();
    const at = clock.now();
    await here.service.settle();
    assert.deepEqual(clock.now(), at);
    await clock.advance("10s");
    assert.equal((await deploymentNow(here, deployment.id)).status, "active");
    assert.equal(clock.now().getTime(), at.getTime() + 10_000);
    if (!kept) continue;
    await here.service.restore(kept.id);
    await assert.rejects(clock.advance("1s"), /manual/);
  }
});

test("a running clock is frozen over the control interface", async (t) => {
  const here = await world(t, { clock: "real" });
  const { now, mode } = expect(await here.call("nobody", "POST", "/_svc/clock/freeze"), 200);
  assert.equal(mode, "manual");
  assert.equal(here.service.clock.now().toISOString(), now);
});

test("a frozen clock runs on as before, with the work that waited", async (t) => {
  for (const [setting, mode, speed] of [
    ["real", "real", 1],
    ["100x", "scaled", 100],
  ] as const) {
    const here = await world(t, { clock: setting });
    const control = (method: string, path: string) => here.call("nobody", method, `/_svc/clock${path}`);
    assert.equal(expect(await control("GET", ""), 200).speed, speed);
    expect(await control("POST", "/freeze"), 200);
    const frozen = expect(await control("GET", ""), 200);
    assert.deepEqual([frozen.mode, frozen.speed, frozen.is_frozen], ["manual", 0, true]);
    const { id } = await here.deploy((await here.project()).id);
    const shown = expect(await control("POST", "/run"), 200);
    assert.deepEqual([shown.mode, shown.speed, shown.is_frozen], [mode, speed, false]);
    if (mode === "real") continue;
    const ended = expect(await here.call("owner", "GET", `/v1/deployments/${id}?wait=30`), 200);
    assert.notEqual(ended.status, "queued");
  }
  const manual = await world(t);
  const problem = expect(await manual.call("nobody", "POST", "/_svc/clock/run"), 422);
  assert.match(problem.error.message, /does not stand because of a freeze/);
});

test("a frozen clock that was moved ahead of the machine's never goes back", async (t) => {
  const here = await world(t, { clock: "real" });
  const { clock } = here.service;
  const control = async (path: string, body?: unknown) =>
    expect(await here.call("nobody", "POST", `/_svc/clock/${path}`, body), 200);
  await control("freeze");
  const { now } = await control("advance", { by: "3d" });
  const { id } = await here.project();
  const shown = await control("run");
  assert.deepEqual([shown.mode, shown.speed, shown.is_frozen], ["scaled", 1, false]);
  assert.ok(shown.now >= now, shown.now);
  const { id: deployment } = await here.deploy(id);
  const ended = expect(await here.call("owner", "GET", `/v1/deployments/${deployment}?wait=30`), 200);
  assert.equal(ended.status, "active");
  assert.ok(clock.now().toISOString() > now);
});

test("a clock that is let run on during a move does so once the move has ended", async (t) => {
  const here = await world(t, { clock: "real" });
  const post = (path: string, body?: unknown) => here.call("nobody", "POST", `/_svc/clock/${path}`, body);
  expect(await post("freeze"), 200);
  const { id } = await here.deploy((await here.project()).id);
  const moving = post("advance", { by: "1d" });
  // Meanwhile, the body of that call has been read.
  expect(await here.call("owner", "GET", "/v1/me"), 200);
  const [moved, runs, ...late] = await Promise.all([
    moving,
    post("run"),
    ...[{ by: "1d" }, { to: "next" }, { to: "idle" }].map((to) => post("advance", to)),
  ]);
  const { mode, now } = expect(runs, 200);
  assert.equal(mode, "scaled");
  assert.ok(now >= expect(moved, 200).now);
  // Each moves the clock before it runs, or is refused.
  for (const { status } of late) assert.ok([200, 422].includes(status), `${status}`);
  assert.equal((await deploymentNow(here, id)).status, "active");
});

test("the mode start refuses to freeze its clock", async (t) => {
  const { clock } = (await world(t, { mode: "start", clock: "real", random: undefined })).service;
  assert.throws(() => clock.freeze(), /instruments are for the mode dev/);
  await assert.rejects(clock.advance("1s"), /^Problem: only a manual clock can be moved/);
});

test("fifty services in one process have independent clocks", async (t) => {
  const worlds = await Promise.all(Array.from({ length: 50 }, () => world(t)));
  await Promise.all(
    worlds.map(async (here, i) => {
      const { id } = await here.project(`project-${i}`);
      const { id: deployment } = await here.deploy(id);
      await here.service.clock.advance(`${i}s`);
      const expected = i === 0 ? "queued" : i < 4 ? "building" : i < 6 ? "deploying" : "active";
      assert.equal((await deploymentNow(here, deployment)).status, expected);
      assert.equal(here.service.clock.now().getTime(), Date.parse(start) + i * 1000);
    }),
  );
});
