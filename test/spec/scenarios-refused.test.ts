import assert from "node:assert/strict";
import { test } from "node:test";
import { pathsOf } from "../helpers/deployments.ts";
import { expect, type World, world } from "../helpers/test-service.ts";

const scenarios = "/_svc/scenarios";
const post = (here: World, body: unknown) => here.call("nobody", "POST", scenarios, body);

test("a wrong scenario is 422 with its path, and nothing is stored", async (t) => {
  const here = await world(t);
  const outcome = {};
  const refused: [string, unknown, string][] = [
    ["no outcome", {}, "outcome"],
    ["an unknown field", { outcome, time: 1 }, "time"],
    ["an unknown field to match", { match: { repository: "acme/web" }, outcome }, "match.repository"],
    ["a pattern that is no text", { match: { repo: 1 }, outcome }, "match.repo"],
    ["an empty pattern", { match: { repo: "" }, outcome }, "match.repo"],
    ["a deployment's and a generation's fields", { match: { repo: "a", model: "b" }, outcome }, "match"],
    ["an unknown result", { outcome: { result: "failed" } }, "outcome.result"],
    ["an unknown step", { outcome: { result: "fail", at: "queued" } }, "outcome.at"],
    ["a health check in the build", { outcome: { result: "rolled_back", at: "building" } }, "outcome.at"],
    ["an empty message", { outcome: { message: "" } }, "outcome.message"],
    ["a duration without a unit", { outcome: { durations: { building: "3" } } }, "outcome.durations.building"],
    ["a duration of more than ten years", { outcome: { durations: { queued: "3651d" } } }, "outcome.durations.queued"],
    ["an unknown phase", { outcome: { durations: { active: "3s" } } }, "outcome.durations.active"],
    ["logs that are no list", { outcome: { logs: "x" } }, "outcome.logs"],
    ["an unknown level", { outcome: { logs: [{ level: "debug", message: "x" }] } }, "outcome.logs.0.level"],
    ["a negative cost", { outcome: { cost_usd: -1 } }, "outcome.cost_usd"],
    ["an unknown pace", { outcome: { pace: "fast" } }, "outcome.pace"],
    ["no times", { outcome, times: 0 }, "times"],
    ["half a time", { outcome, times: 1.5 }, "times"],
    ["next of something else", { next: "project", outcome }, "next"],
    ["next and match", { next: "deployment", match: { repo: "a" }, outcome }, "next"],
    ["next and times", { next: "deployment", times: 2, outcome }, "times"],
  ];
  for (const [what, body, path] of refused) {
    await t.test(what, async () => {
      assert.deepEqual(pathsOf(expect(await post(here, body), 422)), [path]);
    });
  }
  assert.throws(() => here.service.scenarios.next("deployment", { at: "active" as "building" }), {
    code: "validation_failed",
  });
  assert.deepEqual(await here.service.scenarios.list(), []);
});

test("the mode start has no scenarios", async (t) => {
  const here = await world(t, { mode: "start", clock: "real", random: undefined });
  assert.throws(() => here.service.scenarios, /mode dev/);
  for (const method of ["GET", "POST", "DELETE"])
    expect(await here.call("nobody", method, scenarios, method === "POST" ? { outcome: {} } : undefined), 404);
});
