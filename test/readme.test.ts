import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const readme = readFileSync("README.md", "utf8");
const examples = [...readme.matchAll(/<!-- example (\w+) -->\n```ts\n([\s\S]*?)```/g)];

test("the README has its examples", () => {
  assert.ok(examples.length >= 2);
});

for (const [, name, code = ""] of examples) {
  test(`the README's example "${name}" runs as it is written`, () => {
    // Within the tree, so that "svc-server" can be told to be these sources.
    const folder = mkdtempSync(join("test", ".readme-"));
    try {
      const file = join(folder, "example.ts");
      writeFileSync(
        file,
        code.replace(/from "svc-server(?:\/(\w+))?"/g, (_, name = "index") => `from "../../lib/${name}.ts"`),
      );
      const { status, stderr, stdout } = spawnSync(process.execPath, ["--import", "tsx", file], { encoding: "utf8" });
      assert.equal(status, 0, stdout + stderr);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}
