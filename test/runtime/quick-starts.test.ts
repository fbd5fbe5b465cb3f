import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { found } from "../helpers/container-engine.ts";
import { run, temporaryFolder } from "../helpers/program.ts";
import { isLong } from "../helpers/properties.ts";

/** The quick starts of other languages, by the program that runs them. Go first builds its library: half a minute. */
const files = { python3: "quick_start.py", go: "quick_start.go" };

for (const [program, file] of Object.entries(files)) {
  const skip =
    (found(program) === "" && `${program} is not installed`) || (program === "go" && !isLong && "TEST_LONG=1 runs it");

  test(`the quick start for ${program} runs as its first line says`, { skip }, (t) => {
    const path = resolve("fixtures/recipes", file);
    const [, line = ""] = /svc-server (exec .*)\n/.exec(readFileSync(path, "utf8")) ?? [];
    const folder = temporaryFolder(t);
    // Go builds its library once per machine; a command may take only a minute.
    if (program === "go") spawnSync("go", ["build", "-o", "/dev/null", path], { timeout: 300_000 });
    const words = line.replace(file, path).split(" ");
    const { status, stdout, stderr } = run(words, folder, { GO111MODULE: "off" });
    assert.deepEqual([status, stdout], [0, "deployed v1.4.2\n"], stderr);
  });
}

/** The output of `fixtures/recipes/clients/generate.mjs`; `.ci/run` generates it from the document. */
const clients = process.env["TEST_CLIENTS"] ?? "";
/** What is missing here, by program. Python is Debian's own, which sees Debian's packages. */
const lacking = {
  python3: () =>
    spawnSync("/usr/bin/python3", ["-c", "import certifi, dateutil, six, urllib3"]).status !== 0 &&
    "python3-certifi, python3-dateutil and python3-urllib3 of Debian are not installed",
  go: () => found("go") === "" && "go is not installed",
};

for (const [program, file] of Object.entries(files)) {
  const skip =
    (clients === "" && "TEST_CLIENTS names no folder of generated clients") ||
    lacking[program as keyof typeof lacking]();

  test(`the quick start for ${program} with a generated client runs as its first line says`, { skip }, () => {
    const folder = join(resolve(clients), program === "go" ? "go" : "python");
    const [, line = ""] = /svc-server (exec .*)\n/.exec(readFileSync(join(folder, file), "utf8")) ?? [];
    const env = { PATH: `/usr/bin:${process.env["PATH"]}`, GO111MODULE: "on", GOFLAGS: "-mod=mod", GOPROXY: "off" };
    if (program === "go")
      spawnSync("go", ["build", "-o", "/dev/null", file], {
        cwd: folder,
        env: { ...process.env, ...env },
        timeout: 300_000,
      });
    const { status, stdout, stderr } = run(line.split(" "), folder, env);
    assert.deepEqual([status, stdout], [0, "deployed v1.4.2\n"], stderr);
  });
}
