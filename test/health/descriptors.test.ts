import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { compiled } from "../helpers/bundle.ts";

test("without a free descriptor, all is told but the memory, which cannot be read then", () => {
  const child = compiled("test/health/descriptors.child.js");
  const limited = ["-c", 'ulimit -n 128; exec "$0" "$@"', process.execPath, child];
  const { stdout } = spawnSync("sh", limited, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
  const { status, text } = JSON.parse(stdout);
  assert.equal(status, 200);
  assert.match(text, /^process_cpu_seconds_total /m);
  assert.match(text, /^svc_database_bytes /m);
  assert.doesNotMatch(text, /process_resident_memory_bytes/);
});
