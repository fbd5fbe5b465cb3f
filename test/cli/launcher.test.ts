import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { userFolder } from "../helpers/cli-refusals.ts";
import { program } from "../helpers/program.ts";

const sources = process.cwd();

test("the command of a clone that is not built says how to build it, and one of a built package runs it", (t) => {
  const { folder } = userFolder(t);
  const launcher = (at: string) => {
    const file = join(at, "bin/launch.mjs");
    mkdirSync(join(at, "bin"), { recursive: true });
    copyFileSync(join(sources, "bin/launch.mjs"), file);
    const { status, stdout, stderr } = spawnSync(process.execPath, [file, "--version"], { encoding: "utf8" });
    return { status, stdout, stderr };
  };
  assert.deepEqual(launcher(folder), {
    status: 1,
    stdout: "",
    stderr:
      "svc-server: this clone is not built yet; run npm run build first, or npm start for the emulator, or npx tsx bin/svc-server.ts for any command\n",
  });
  symlinkSync(join(program, "../.."), join(folder, "dist"), "junction");
  const built = launcher(folder);
  assert.deepEqual([built.status, built.stderr], [0, ""]);
  assert.match(built.stdout, /^\d+\.\d+\.\d+\n$/);
});
