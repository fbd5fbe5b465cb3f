import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, symlinkSync } from "node:fs";
import module from "node:module";
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
    const { NODE_COMPILE_CACHE: _, NODE_DISABLE_COMPILE_CACHE: __, ...env } = process.env;
    const { status, stdout, stderr } = spawnSync(process.execPath, [file, "--version"], { encoding: "utf8", env });
    return { status, stdout, stderr };
  };
  assert.deepEqual(launcher(folder), {
    status: 1,
    stdout: "",
    stderr:
      "svc-server: this clone is not built yet; run npm run build first, or npm start for the emulator, or npx tsx bin/svc-server.ts for any command\n",
  });
  symlinkSync(join(program, "../.."), join(folder, "dist"), "junction");
  for (const round of ["first", "cached"]) {
    const built = launcher(folder);
    assert.deepEqual([built.status, built.stderr], [0, ""], round);
    assert.match(built.stdout, /^\d+\.\d+\.\d+\n$/);
    const keepsCode = "enableCompileCache" in module;
    assert.equal(existsSync(join(folder, "node_modules/.cache/svc-server")), keepsCode, "from Node 22.8 on");
  }
});
