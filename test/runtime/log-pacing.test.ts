import assert from "node:assert/strict";
import { test } from "node:test";
import type { LogLine } from "../../lib/drivers/deployment/contract.ts";
import { createPacing } from "../../lib/platform/runtime/lines.ts";
import { createOutput } from "../../lib/platform/runtime/output.ts";
import { mockTime } from "../helpers/mock-time.ts";

test("Programs that flood their logs are read more slowly the more there are, and a quiet one at once", (t) => {
  mockTime(t, { apis: ["setTimeout", "Date"], now: 1_000 });
  const flood = Buffer.alloc(8_192);
  const ofService = createPacing();
  const program = (organization_id: string, paced = ofService) =>
    paced(organization_id, ({ length }) => length / 8_192);
  const floods = Array.from({ length: 21 }, () => program("org_a"));
  assert.deepEqual(
    floods.map((one) => one(flood)),
    floods.map((_, i) => i + 1),
  );
  assert.ok(program("org_a")(Buffer.alloc(82)) < 1, "an honest line waits for itself alone");
  assert.equal(program("org_b")(flood), 1);
  assert.equal(program("org_a", createPacing())(flood), 1, "nor does one of another service wait");
  for (let i = 0; i < 10; i++) for (const one of floods) one(Buffer.alloc(2 ** 25));
  assert.equal(floods[0]?.(flood), 60_000, "no program stands longer than a minute");
  t.mock.timers.tick(60_000);
  assert.equal(floods[0]?.(flood), 1, "what has passed is forgiven");
});

test("What an app prints at about the same time is handed over together, and the rest when it ends", (t) => {
  mockTime(t, { apis: ["setTimeout"] });
  const output = createOutput();
  const taken: string[][] = [];
  output.listen((lines) => void taken.push(lines.map(({ message }) => message)));
  const print = (message: string) => output.add({ level: "info", message });
  for (const message of ["one", "two"]) print(message);
  t.mock.timers.tick(100);
  assert.deepEqual(taken, [["one", "two"]]);
  print("three");
  output.end();
  print("four");
  t.mock.timers.tick(100);
  assert.deepEqual(taken, [["one", "two"], ["three"]]);
});

test("The last lines of an app are those since its last start", () => {
  const output = createOutput();
  for (const message of ["one", "two"]) {
    output.begin();
    output.add({ level: "info", message });
  }
  assert.deepEqual(output.last(), [{ level: "info", message: "two" }]);
});

test("What an app printed at its start is handed over at once when its release goes live", () => {
  const output = createOutput();
  const lines: readonly LogLine[] = ["one", "two"].map((message) => ({ level: "info", message }));
  for (const line of lines) output.add(line);
  const taken: LogLine[] = [];
  output.listen((more) => void taken.push(...more));
  assert.deepEqual(taken, lines);
});
