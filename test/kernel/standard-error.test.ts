import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { type TestContext, test } from "node:test";
import { compiled } from "../helpers/bundle.ts";

const child = compiled("test/kernel/standard-error.child.js");

for (const [end, status] of [
  ["return", 0],
  ["exit", 3],
  ["throw", 1],
] as const)
  test(`lines keep their order, and the last ones are written before a process ends: ${end}`, () => {
    const ended = spawnSync(process.execPath, [child, end], { encoding: "utf8" });
    const lines = ended.stderr.split("\n").filter((line) => /^([a-d]|between)$/.test(line));
    assert.deepEqual([ended.status, ...lines], [status, "a", "b", "between", "c", "d"]);
  });

/** The program with pipes, once it has said its first word. */
async function writing(t: TestContext, how: string) {
  const made = spawn(process.execPath, [child, how]);
  t.after(() => void made.kill("SIGKILL"));
  await once(made.stdout, "data");
  return made;
}

test("a process goes on without the reader of its stderr", async (t) => {
  const made = await writing(t, "no reader");
  made.stderr.destroy();
  await once(made.stderr, "close");
  made.stdin.end("go");
  assert.deepEqual(await once(made, "exit"), [0, null]);
});

test("lines that a slow reader leaves no room for are lost and counted, and the others are whole", async (t) => {
  const made = await writing(t, "slow reader");
  const text = (await made.stderr.setEncoding("utf8").toArray()).join("");
  const lines = text.trimEnd().split("\n");
  assert.equal(lines.pop(), "open");
  const [, lost] = /^lost (\d+)$/.exec(lines.pop() ?? "") ?? [];
  assert.deepEqual(
    lines,
    lines.map((_, i) => `${i} `.padEnd(100_000, "x")),
  );
  assert.equal(lines.length + Number(lost), 40);
});
