import assert from "node:assert/strict";
import { test } from "node:test";
import { createEngineReader } from "../../lib/platform/process/build-advice.ts";
import { type Build, runStep } from "../../lib/platform/process/build-steps.ts";
import type { Box } from "../../lib/platform/process/sandbox.ts";
import { app, noSandbox, runtimeWorld, server } from "../helpers/running-apps.ts";
import { expect } from "../helpers/test-service.ts";

/* Commands of a repository that no program can be started with or that it may not run, and more of them than a release may have. */

const needsSandbox = { skip: noSandbox };
const long = "x".repeat(200_000);

test(
  "A Procfile with a command that is too long, or with too many workers, fails its deployment",
  needsSandbox,
  async (t) => {
    const here = await runtimeWorld(t);
    const { id } = await here.project("web");
    const failing = async (procfile: string) => {
      here.repos.commit("acme/web", { Procfile: `web: node server.js\n${procfile}`, "server.js": server("one") });
      const { id: failed, status } = await here.release(id);
      return [
        status,
        ...(await here.messages(failed)).filter((line) => line.includes("Procfile's") || line.includes("Procfile has")),
      ];
    };
    for (const command of [`sleep ${long}`, "sleep 1000\0"])
      assert.deepEqual(await failing(`work: ${command}`), [
        "failed",
        "the Procfile's work must have at most 4,096 characters, and no NUL",
      ]);
    const workers = Array.from({ length: 21 }, (_, i) => `work${i}: sleep 1000`);
    assert.deepEqual(await failing(workers.join("\n")), ["failed", "the Procfile has 21 workers, and 20 are the most"]);
    expect(await here.call("viewer", "GET", "/v1/me"), 200);
  },
);

test(
  "A command of package.json that the kernel refuses fails its deployment, and nothing else",
  needsSandbox,
  async (t) => {
    const here = await runtimeWorld(t);
    const { id } = await here.project("web");
    for (const scripts of [
      { start: `node server.js ${long}` },
      { start: "node server.js \0" },
      { build: `true ${long}`, start: "node server.js" },
      { build: "true \0", start: "node server.js" },
    ]) {
      here.repos.commit("acme/web", { ...app("one"), "package.json": { scripts } });
      const { id: failed, status } = await here.release(id);
      assert.equal(status, "failed");
      assert.match((await here.messages(failed)).join("\n"), /cannot be started/, JSON.stringify(scripts).slice(0, 80));
    }
    here.repos.commit("acme/web", app("two"));
    assert.equal((await here.release(id)).status, "active");
  },
);

test("A build whose package script may not run a program says what to do", async () => {
  const failing = (line: string) => {
    const start = (script: string, _: unknown, take: (chunk: Buffer) => void) => {
      const isBuild = script === "npm run build";
      take(Buffer.from(isBuild ? `${line}\n` : "none\n"));
      return { pid: undefined, kill: () => {}, ended: Promise.resolve({ code: isBuild ? 126 : 0, signal: null }) };
    };
    const same = { signal: new AbortController().signal, hide: (text: string) => text, log: () => {} };
    const limits = { memory_bytes: 1, disk_bytes: 1 };
    const sandbox = { start, name: "fake" };
    const build = {
      ...same,
      sandbox,
      limits,
      isFull: () => false,
      written: async () => 0,
      engines: createEngineReader(),
    };
    return runStep({ name: "Building", command: "npm run build" }, {} as Box, build as unknown as Build);
  };
  for (const [program, expected] of [
    ["./build.sh", /^Building failed: \.\/build\.sh is not executable: run `git update-index .*, or start it with/],
    ["/data/run.sh", /is not executable: start it with its interpreter, such as sh \/data\/run\.sh$/],
    ["vite", /^Building failed: vite is not executable: if the folder of its package, such as node_modules, is in git/],
  ] as const)
    await assert.rejects(failing(`sh: 1: ${program}: Permission denied`), { message: expected });
});
