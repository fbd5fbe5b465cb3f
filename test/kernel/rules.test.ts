import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as v from "valibot";
import { operations } from "../../lib/composition/operations.ts";
import { lifecycle as deployments } from "../../lib/features/deployments/states.ts";
import { lifecycle as projects } from "../../lib/features/projects/states.ts";
import { lifecycle as users } from "../../lib/features/users/states.ts";
import { failed, retryDelays, settle } from "../../lib/jobs/settle.ts";
import { discard, done, snooze } from "../../lib/kernel/job.ts";
import { createLog, lineSink } from "../../lib/kernel/log.ts";
import { writerOf } from "../../lib/kernel/result-text.ts";
import { inScope, type Need, resources, roles, rolesFor, scopes } from "../../lib/kernel/roles.ts";
import { isTerminal, type Machine } from "../../lib/kernel/state-machine.ts";
import { milliseconds } from "../../lib/kernel/text/duration.ts";
import type { Schema } from "../../lib/kernel/validation.ts";
import fc from "../helpers/fast-check.ts";

describe("tables of states and rights", () => {
  for (const [name, table] of Object.entries({ deployments, projects, users } as Record<
    string,
    Machine<string, string>
  >))
    test(`${name}: every state is reachable, and only terminal states have no move`, () => {
      const moves = Object.values(table.moves);
      for (const state of table.states) {
        assert.ok(state === table.initial || moves.some(({ to }) => to === state), `nothing leads to ${state}`);
        assert.equal(isTerminal(table, state), !moves.some(({ from }) => from.includes(state)), state);
      }
      for (const { from, to } of moves) for (const state of [...from, to]) assert.ok(table.states.includes(state));
    });

  test("write includes read, `*` includes everything, and no scope covers another resource", () => {
    const needs = resources.flatMap((name): Need[] => [`${name}:read`, `${name}:write`]);
    for (const need of needs)
      for (const scope of scopes) {
        const covers = scope === "*" || scope === need || scope === need.replace(":read", ":write");
        assert.equal(inScope([scope], need), covers, `${scope} for ${need}`);
      }
    for (const need of needs) assert.equal(inScope([], need), false);
    for (const need of needs) assert.equal(inScope(["**", "projects", "PROJECTS:READ", ""], need), false);
  });

  test("everybody reads; owner and admin write all, developers what runs, viewers nothing", () => {
    const some = ["owner", "admin"];
    const writers = { projects: some, users: some } as Record<string, string[]>;
    for (const name of resources) {
      assert.deepEqual(rolesFor(`${name}:read`), roles);
      assert.deepEqual(rolesFor(`${name}:write`), writers[name] ?? [...some, "developer"]);
    }
  });
});

describe("the text of a result", () => {
  /** A schema, a valid value, and the same value with keys that the schema does not name. */
  interface Sample {
    readonly schema: Schema;
    readonly value: unknown;
    readonly noisy: unknown;
  }
  const { sample } = fc.letrec<{ sample: Sample; leaf: Sample }>((tie) => ({
    leaf: fc.oneof(
      fc.string().map((value) => ({ schema: v.string(), value, noisy: value })),
      fc.integer().map((value) => ({ schema: v.pipe(v.number(), v.integer()), value, noisy: value })),
      fc.jsonValue().map((value) => ({ schema: v.unknown(), value, noisy: value })),
      fc.constant({ schema: v.nullable(v.object({ a: v.string() })), value: null, noisy: null }),
    ),
    sample: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      tie("leaf"),
      tie("sample").map(({ schema, ...rest }) => ({ schema: v.nullable(schema), ...rest })),
      tie("sample").map(({ schema, ...rest }) => ({ schema: v.pipe(schema, v.metadata({})), ...rest })),
      fc.tuple(tie("sample"), fc.nat(3)).map(([{ schema, value, noisy }, length]) => ({
        schema: v.array(schema),
        value: Array.from({ length }, () => value),
        noisy: Array.from({ length }, () => noisy),
      })),
      fc.dictionary(fc.string({ maxLength: 4 }), tie("sample"), { maxKeys: 4 }).map((parts) => {
        const each = (pick: (part: Sample) => unknown) =>
          Object.fromEntries(Object.entries(parts).map(([key, part]) => [key, pick(part)]));
        const entries = each(({ schema }) => v.optional(schema)) as Record<string, Schema>;
        const secrets = { secret_hash: "s", organization_id: 1, more: { secret: 2 } };
        return {
          schema: v.object({ ...entries, absent: v.optional(v.string()) }),
          value: each(({ value }) => value),
          noisy: { ...secrets, ...each(({ noisy }) => noisy) },
        };
      }),
    ),
  }));

  test("unknown keys are dropped and declared ones stay, at every depth", () => {
    fc.assert(
      fc.property(sample, ({ schema, value, noisy }) => {
        assert.equal(writerOf(schema)(noisy), JSON.stringify(value));
        assert.equal(writerOf(schema)(value), JSON.stringify(value));
      }),
      { numRuns: 500 },
    );
  });

  test("absent and undefined keys stay away, null stays where the schema takes it, and an object may be its JSON", () => {
    const write = writerOf(v.object({ a: v.nullable(v.string()), b: v.optional(v.object({ c: v.number() })) }));
    const row = Object.freeze({ a: null, b: undefined, hash: "x" });
    assert.equal(write(row), '{"a":null}');
    assert.equal(write({ ...row, b: null }), '{"a":null}');
    assert.equal(write({ a: "", b: Object.freeze({ c: 0, d: 1 }) }), '{"a":"","b":{"c":0}}');
    assert.equal(write({ a: "é\u2028\ud800", b: '{"c":0}' }), '{"a":"é\u2028\\ud800","b":{"c":0}}');
    assert.equal(write('{"a":null}'), '{"a":null}');
  });

  type Parts = Schema & {
    readonly entries?: Record<string, Schema>;
    readonly item?: Schema;
    readonly wrapped?: Schema;
    readonly pipe?: readonly Schema[];
  };
  test("every result of an operation can be written, with all that lies inside it", () => {
    const visit = (schema: Schema): void => {
      writerOf(schema);
      const { entries = {}, item, wrapped, pipe } = schema as Parts;
      for (const inner of [...Object.values(entries), item, wrapped, pipe?.[0]]) if (inner) visit(inner);
    };
    const results = operations.flatMap(({ result }) => result ?? []);
    assert.ok(results.length > 0);
    for (const result of results) visit(result);
  });

  test("a schema without a fixed set of keys is refused", () => {
    const one = v.object({ a: v.string() });
    assert.throws(() => writerOf(v.union([one, v.string()])), /is not supported; use one object/);
    assert.throws(
      () => writerOf(v.object({ list: v.array(v.intersect([one, one])) }))({ list: [] }),
      /is not supported; use one object/,
    );
  });
});

describe("settling a job", () => {
  test("a failure waits for the next delay, and the last one gives the job up with its reason", () => {
    const at: number[] = [];
    let now = 1_000;
    for (let failures = 0; failures < retryDelays.length; failures++) {
      const verdict = settle(failed("a bug"), { failures, again: failures > 1 }, now);
      assert.ok(verdict.kind === "again");
      assert.equal(verdict.failures, failures + 1);
      assert.equal("args" in verdict, false);
      at.push(verdict.at - now);
      now = verdict.at;
    }
    assert.deepEqual(at, retryDelays.map(milliseconds));
    assert.equal(now - 1_000, milliseconds("36s"));
    const exhausted = (again: boolean) => settle(failed("a bug"), { failures: retryDelays.length, again }, now);
    assert.deepEqual(exhausted(false), { kind: "give_up", reason: "a bug" });
    assert.deepEqual(exhausted(true), { kind: "again", at: now + milliseconds("1m"), failures: 0, reason: "a bug" });
  });

  test("a snooze is not a failure and may change the arguments; other outcomes finish the job", () => {
    const before = { failures: 2, again: false };
    assert.deepEqual(settle(snooze(500), before, 10), { kind: "again", at: 510, failures: 2 });
    const args = { handle: "begun" };
    assert.deepEqual(
      settle(
        snooze(0, async () => {}, "rows", args),
        before,
        10,
      ),
      { kind: "again", at: 10, failures: 2, args },
    );
    for (const outcome of [done(), discard("gone")]) assert.deepEqual(settle(outcome, before, 10), { kind: "remove" });
  });
});

describe("log entries", () => {
  test("an entry is one line without control characters, whatever is logged", () => {
    for (const json of [true, false]) {
      const written: string[] = [];
      const log = createLog("info", lineSink({ json, now: () => "now", write: (line) => written.push(line) }));
      const unit = fc.integer({ min: 0, max: 0xff }).map((point) => String.fromCodePoint(point));
      // A JSON parser treats eight-bit control characters as text; a terminal may interpret them.
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not be there
      const forbidden = json ? /[\u0000-\u001f]/ : /[\u0000-\u001f\u007f-\u009f]/;
      fc.assert(
        fc.property(fc.string({ unit }), fc.string({ unit }), (message, value) => {
          log.warn(message, { value });
          assert.doesNotMatch(written.pop() ?? "\n", forbidden);
        }),
      );
    }
  });

  test("entries below the level are not written", () => {
    const seen: string[] = [];
    const log = createLog("warn", (level) => seen.push(level));
    for (const level of ["error", "warn", "info", "debug"] as const) log[level](level);
    assert.deepEqual(seen, ["error", "warn"]);
  });
});
