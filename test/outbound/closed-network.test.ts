import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";
import { compiled } from "../helpers/bundle.ts";
import { missingNamespaces, unshare } from "../helpers/closed-network.ts";

test("the service in the mode start reaches no address that is not public, in a network where every address answers", {
  skip: missingNamespaces(),
}, async (t) => {
  const [command, ...words] = unshare;
  // Without this variable the program reports to people, and not to the test runner.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const file = compiled("test/outbound/closed-network.child.js");
  const child = spawn(command, [...words, process.execPath, "--enable-source-maps", "--test-reporter=tap", file], {
    env,
    // A group of its own, which ends with this test together with the services in it.
    detached: true,
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => child.exitCode === null && child.pid !== undefined && process.kill(-child.pid, "SIGKILL"));
  let report = "";
  for await (const chunk of child.stdout) report += chunk;
  assert.match(report, /^# pass [1-9]\d*$/m, report);
  assert.match(report, /^# fail 0$/m, report);
});
