import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { plainFiles } from "../../lib/platform/box/tenant-files.ts";
import { createInstances } from "../../lib/platform/process/instances.ts";
import type { Box, Sandbox } from "../../lib/platform/process/sandbox.ts";
import { createDataFolders } from "../../lib/platform/runtime/data-folders.ts";
import { createReleases } from "../../lib/platform/runtime/releases.ts";
import { idOf, workOf } from "../helpers/driver-steps.ts";
import { temporaryFolder } from "../helpers/program.ts";

test("A schedule gets the variables that the language of its release needs", async (t) => {
  const folder = temporaryFolder(t);
  const releases = createReleases(join(folder, "releases"));
  const release = idOf(1);
  const variables = { PYTHONUNBUFFERED: "1", COLOUR: "red" };
  const stored = {
    commit: "c",
    root: "",
    start: "x",
    folder: null,
    fallback: null,
    port: null,
    health: null,
    bytes: 0,
  };
  const rest = { hasInstalled: true, isPruned: false, missing: [], workers: [], schedules: [] };
  const whole = { ...stored, ...rest, variables };
  let given: Box | undefined;
  const child = { pid: undefined, ended: Promise.resolve({ code: 0, signal: null }), ending: undefined };
  const start = (_: string, box: Box) => {
    given = box;
    return { ...child, stop: () => child.ended, kill() {} };
  };
  const sandbox: Sandbox = { name: "none", start, listening: undefined, layerOf: undefined };
  const machine = { sandbox, files: plainFiles, userOf: async () => undefined };
  const limits = { appMemory_bytes: 1, healthTimeout_ms: 1, dataLimit_bytes: 1 };
  const instances = createInstances(releases, machine, createDataFolders(join(folder, "data")), limits);
  const source = { type: "git", repo: "acme/web", branch: null, tag: null, image_url: null } as const;
  const app = { ...workOf(release, source), release, variables: { COLOUR: "blue" } };
  const job = { name: "job", cron: "* * * * *", command: "python job.py", timeout_s: 1 };
  assert.deepEqual(await instances.command(app, whole, job, () => {}, []), { exit_code: 0, reason: undefined });
  const { PYTHONUNBUFFERED, COLOUR } = given?.env ?? {};
  assert.deepEqual([PYTHONUNBUFFERED, COLOUR], ["1", "blue"]);
});
