import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import module from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { unfitVersion } from "../../lib/kernel/node/node-version.ts";
import { userFolder } from "../helpers/cli-refusals.ts";
import { program } from "../helpers/program.ts";

const sources = process.cwd();

test("the command runs the sources of a clone that is not built, and else the built package", (t) => {
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
    stderr: "svc-server: this clone has no packages yet; run npm ci first\n",
  });
  symlinkSync(join(sources, "node_modules"), join(folder, "node_modules"), "junction");
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  writeFileSync(
    join(folder, "bin/svc-server.ts"),
    'const said: string = "from the sources";\nprocess.stdout.write(said);\n',
  );
  assert.deepEqual(launcher(folder), { status: 0, stdout: "from the sources", stderr: "" });
  rmSync(join(folder, "node_modules"));
  symlinkSync(join(program, "../.."), join(folder, "dist"), "junction");
  for (const round of ["first", "cached"]) {
    const built = launcher(folder);
    assert.deepEqual([built.status, built.stderr], [0, ""], round);
    assert.match(built.stdout, /^\d+\.\d+\.\d+\n$/);
    const keepsCode = "enableCompileCache" in module;
    assert.equal(existsSync(join(folder, "node_modules/.cache/svc-server")), keepsCode, "from Node 22.8 on");
  }
});

test("an older Node, and Bun, get one sentence about what is needed", () => {
  const versions = (own: object) =>
    `data:text/javascript,Object.defineProperty(process,"versions",{value:${JSON.stringify(own)}})`;
  assert.equal(unfitVersion(process.versions), undefined);
  for (const [own, what] of [
    [{ node: "18.20.8" }, "Node 18.20.8"],
    [{ node: "20.18.3" }, "Node 20.18.3"],
    [{ node: "24.3.0", bun: "1.4.5" }, "Bun 1.4.5"],
  ] as const) {
    const words = ["--import", versions(own), "bin/launch.mjs", "--version"];
    const { status, stdout, stderr } = spawnSync(process.execPath, words, { encoding: "utf8", cwd: sources });
    assert.deepEqual([status, stdout], [1, ""]);
    assert.equal(`${unfitVersion(own)}\n`, stderr, "for who imports the package");
    assert.equal(stderr, `svc-server needs Node 20.19 or later; this is ${what}\n`);
  }
});
