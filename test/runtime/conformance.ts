import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { DeploymentSource, Runtime } from "../../lib/drivers/deployment/contract.ts";
import { advance, ask, done, idOf, kept, rolloutOf, wayIn, workOf } from "../helpers/driver-steps.ts";
import type { Kind, Member, Rule } from "./member.ts";
import { runningRules } from "./running-rules.ts";

interface Settings {
  readonly name: string;
  /** Why the driver cannot be tested here; false where it can. */
  readonly skip: string | false;
  /** Whether its releases keep running after their deployment. */
  readonly runs: boolean;
  readonly make: (t: TestContext) => Member | Promise<Member>;
}

/** Rules for every driver. */
const rules: readonly Rule[] = [
  [
    "a step that has ended answers its end again, and does nothing twice",
    ["works"],
    async ({ driver, member, of }) => {
      const work = workOf(idOf(1), of("works"));
      assert.ok(driver.delay(work) >= 0);
      const first = done(await advance(driver, work));
      assert.deepEqual(
        first.logs.filter(({ level }) => level !== "info"),
        [],
      );
      const rollout = rolloutOf(work, first);
      done(await advance(driver, rollout));
      // The source changes; the built release stays.
      await member.source("works", "two");
      done(await advance(driver, rollout));
      if (!driver.runtime) return;
      const instance = driver.runtime.take(work.deployment_id);
      assert.equal(await ask(instance?.port), "one");
      assert.equal(driver.runtime.take(work.deployment_id), undefined);
    },
  ],
  [
    "a build that fails says why, in its last line too",
    ["buildFails"],
    async ({ driver, of }) => {
      const { end, logs, lines } = await advance(driver, workOf(idOf(1), of("buildFails")));
      assert.equal(end.state, "failed");
      assert.ok(lines.includes("begun"), String(lines));
      assert.deepEqual(logs.at(-1), { level: "error", message: (end as { message?: string }).message });
    },
  ],
  [
    "an app that does not become healthy is unhealthy, with the reason",
    ["startFails"],
    async ({ driver, of }) => {
      const work = workOf(idOf(1), of("startFails"));
      const { end, logs } = await advance(driver, rolloutOf(work, done(await advance(driver, work))));
      assert.equal(end.state, "unhealthy");
      assert.deepEqual(logs.at(-1), { level: "error", message: (end as { message?: string }).message });
    },
  ],
  [
    "the lines of a build come in batches, in their order, without secrets",
    ["prints"],
    async ({ driver, of }) => {
      const { end, lines, answers } = await advance(driver, workOf(idOf(1), of("prints")));
      assert.equal(end.state, "done", lines.slice(-5).join("\n"));
      const numbers = lines.flatMap((line) => /^line (\d+)$/.exec(line)?.[1] ?? []).map(Number);
      assert.deepEqual(
        numbers,
        Array.from({ length: 3_000 }, (_, i) => i),
      );
      assert.ok(lines.includes("the token is [redacted]"), String(lines.slice(-5)));
      assert.ok(answers < 600, `${answers} answers`);
    },
  ],
];

/** Registers the rules of every runtime. A driver without a runtime has to keep only the rules for its steps. */
export function conformance({ name, skip, make, runs }: Settings): void {
  for (const [text, needs, body] of runs ? [...rules, ...runningRules] : rules)
    test(`${name}: ${text}`, { skip }, async (t) => {
      const member = await make(t);
      const sources = new Map<Kind, DeploymentSource>();
      for (const kind of needs) {
        const source = await member.source(kind, "one");
        if (!source) return t.skip(`${name} has no source for ${kind}`);
        sources.set(kind, source);
      }
      const driver = member.open();
      const { runtime } = driver;
      // The timers of a runtime do not keep a process alive. A server does; its port stands in here.
      await wayIn(t);
      assert.equal(runtime !== undefined, runs);
      await runtime?.begin(kept);
      t.after(() => runtime?.close(Promise.resolve()));
      const of = (kind: Kind) => sources.get(kind) as DeploymentSource;
      // A driver without a runtime gets only rules that use none.
      await body({ driver, runtime: runtime as Runtime, member, t, of });
    });
}
