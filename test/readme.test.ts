import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import { transform } from "esbuild";
import { compiled } from "./bundle.ts";

const readme = readFileSync("README.md", "utf8");
const examples = [...readme.matchAll(/<!-- example (\w+) -->\n```ts\n([\s\S]*?)```/g)];

test("the README has its examples", () => {
  assert.ok(examples.length >= 2);
});

describe("the README's examples", { concurrency: availableParallelism() }, () => {
  for (const [, name, code = ""] of examples) {
    test(`the README's example "${name}" runs as it is written`, async (t) => {
      // Within the compiled package, whose name leads to itself.
      const folder = mkdtempSync(compiled("example-"));
      t.after(() => rmSync(folder, { recursive: true, force: true }));
      const file = join(folder, "example.js");
      writeFileSync(file, (await transform(code, { loader: "ts" })).code);
      // Without this variable, by which a test would speak to the runner in bytes.
      const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
      await promisify(execFile)(process.execPath, [file], { env });
    });
  }
});
