import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type TestContext, test } from "node:test";
import { createClient } from "../../lib/client.ts";
import { program, temporaryFolder } from "../helpers/program.ts";

const skip =
  process.platform === "win32"
    ? "Windows has no such signals"
    : spawnSync("npx", ["--version"]).status !== 0 && "npx is not installed";

const dev = ["dev", "--port", "0", "--clock", "manual", "--json"];

/**
 * Starts `npx svc-server dev`, or another command, in a project with the package. Resolves once the server listens.
 */
async function begin(t: TestContext, command = ["npx", "--no-install", "svc-server", ...dev]) {
  const folder = temporaryFolder(t);
  const bin = join(folder, "node_modules/.bin");
  mkdirSync(bin, { recursive: true });
  // The script runs until its stdin ends.
  const scripts = { service: `svc-server ${dev.join(" ")} & cat` };
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "mine", scripts }));
  // The same link to the command as npm makes.
  writeFileSync(join(bin, "svc-server"), `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`);
  chmodSync(join(bin, "svc-server"), 0o755);
  const [file = "", ...words] = command;
  const npx = spawn(file, words, { cwd: folder, stdio: ["pipe", "pipe", "ignore"], detached: true });
  const ended = once(npx, "exit");
  t.after(() => {
    try {
      process.kill(-(npx.pid ?? 0), "SIGKILL");
    } catch {
      // No process of the group is left.
    }
  });
  const output = createInterface({ input: npx.stdout });
  const { value } = await output[Symbol.asyncIterator]().next();
  const { url, api_key } = JSON.parse(value as string) as { url: string; api_key: string };
  return { npx, ended, output, url, client: createClient({ baseUrl: `${url}/v1`, apiKey: api_key }) };
}

/** A terminal sends Ctrl+C to the whole group. npx alone would wait until the command ends. */
const toGroup = ["SIGINT"];

for (const signal of ["SIGTERM", "SIGINT", "SIGHUP", "SIGKILL"] as const)
  test(`npx svc-server dev leaves nothing behind after ${signal}`, { skip }, async (t) => {
    const { npx, ended, output, url } = await begin(t);
    assert.ok((await fetch(`${url}/healthz`)).ok);
    // The pipe closes when the last process that has it open exits.
    const closed = once(output, "close");
    process.kill(toGroup.includes(signal) ? -(npx.pid ?? 0) : (npx.pid ?? 0), signal);
    await ended;
    await closed;
    await assert.rejects(fetch(`${url}/healthz`), /fetch failed/);
  });

test("a script of npm run that puts the server in the background leaves it running", { skip }, async (t) => {
  const { npx, ended, output, url, client } = await begin(t, ["npm", "run", "--silent", "service"]);
  npx.stdin.end();
  await ended;
  const { id: project_id } = await client.projects.create({ name: "web", region: "eu-west-1" });
  const source = { type: "git", repo: "acme/web", branch: "main" } as const;
  const { id } = await client.deployments.create({ project_id, environment: "production", source });
  // Nothing moves the clock, so this takes two seconds. A server that watches npm checks several times meanwhile.
  assert.equal((await client.deployments.get({ id, wait: 2 })).status, "queued");
  assert.ok((await fetch(`${url}/healthz`)).ok);
  const closed = once(output, "close");
  process.kill(-(npx.pid ?? 0), "SIGTERM");
  await closed;
});
