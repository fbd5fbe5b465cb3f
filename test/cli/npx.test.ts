import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type TestContext, test } from "node:test";
import { program, temporaryFolder } from "../helpers/program.ts";

const skip =
  process.platform === "win32"
    ? "Windows has no such signals"
    : spawnSync("npx", ["--version"]).status !== 0 && "npx is not installed";

/** `npx svc-server dev` in a project that has the package, once it listens. */
async function begin(t: TestContext) {
  const folder = temporaryFolder(t);
  const bin = join(folder, "node_modules/.bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{"name":"mine"}');
  // As npm links the command of the package.
  writeFileSync(join(bin, "svc-server"), `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`);
  chmodSync(join(bin, "svc-server"), 0o755);
  const words = ["--no-install", "svc-server", "dev", "--port", "0", "--json"];
  const npx = spawn("npx", words, { cwd: folder, stdio: ["ignore", "pipe", "ignore"], detached: true });
  const ended = once(npx, "exit");
  t.after(() => {
    try {
      process.kill(-(npx.pid ?? 0), "SIGKILL");
    } catch {
      // Nothing of its group is left.
    }
  });
  const output = createInterface({ input: npx.stdout });
  const { value } = await output[Symbol.asyncIterator]().next();
  return { npx, ended, output, url: JSON.parse(value as string).url as string };
}

/** A terminal sends Ctrl+C to all of its group; npx alone waits for the command after it. */
const toGroup = ["SIGINT"];

for (const signal of ["SIGTERM", "SIGINT", "SIGHUP", "SIGKILL"] as const)
  test(`npx svc-server dev leaves nothing behind after ${signal}`, { skip }, async (t) => {
    const { npx, ended, output, url } = await begin(t);
    assert.ok((await fetch(`${url}/healthz`)).ok);
    // The pipe closes when the last process that holds it has ended.
    const closed = once(output, "close");
    process.kill(toGroup.includes(signal) ? -(npx.pid ?? 0) : (npx.pid ?? 0), signal);
    await ended;
    await closed;
    await assert.rejects(fetch(`${url}/healthz`), /fetch failed/);
  });
