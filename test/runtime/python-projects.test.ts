import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pythonApp } from "../../lib/platform/process/python-app.ts";
import { temporaryFolder } from "../helpers/program.ts";

const noPython =
  spawnSync("python3", ["-c", "import tomllib"]).status !== 0 && "this machine has no python3 of 3.11 or later";

test("The dependencies of a project are installed, and the project itself only if it is a package", (t) => {
  const root = temporaryFolder(t);
  const commandsOf = (text: string) => {
    writeFileSync(join(root, "pyproject.toml"), text);
    return (pythonApp(root)?.steps ?? []).slice(1).map(({ command }) => command);
  };
  const [build, poetry] = ["[build-system]\n", '[tool.poetry]\nname = "a"\n'];
  const project = '[project]\nname = "a"\n';
  for (const [text, isListed, isPackage] of [
    [project, true, false],
    [build + project, true, true],
    [`${build}${project}dynamic = ["version", "dependencies"]`, false, false],
    [build, false, false],
    ["[tool.ruff]\n", true, false],
    [`${build}${poetry}package-mode = false\n`, true, false],
    [poetry, true, false],
  ] as const) {
    const commands = commandsOf(text);
    assert.equal(commands.length === 2, isListed, text);
    assert.equal(commands.at(-1)?.endsWith(" ."), !isListed, text);
    assert.equal(commands.at(-1)?.includes("--no-deps ."), isPackage, text);
  }
  const [first = "", ...others] = commandsOf(build + poetry);
  assert.match(first, / \. \|\| \{\n.* -r "\$TMPDIR/s, "Poetry installs a package; the list is for what it cannot");
  assert.deepEqual(others, []);
});

test("Dependencies in the form of Poetry are listed for pip", { skip: noPython }, (t) => {
  const root = temporaryFolder(t);
  const listed = (text: string) => {
    writeFileSync(join(root, "pyproject.toml"), text);
    const script = (pythonApp(root)?.steps[1]?.command ?? "").replace(/ > "\$TMPDIR.*$/, "");
    return execFileSync("sh", ["-c", script.replace(".venv/bin/python", "python3")], { cwd: root, encoding: "utf8" });
  };
  const lines = [
    'python = "^3.9"',
    'a = "^1.2.3"\nb = "^0.2.3"\nc = "~1.2"\nd = "1.2.*"\ne = "*"\nf = ">=1,<2"\ng = "1.5"\nh = "^1 || ^2"\ni = "~=1.4"',
    'j = {version = "^2.0", extras = ["x", "y"], markers = "os_name == \'posix\'"}\nk = {version = "1", optional = true}',
    'l = {git = "https://git.acme.test/l.git", tag = "v1"}\nm = {git = "git@git.acme.test:x/m.git", subdirectory = "py"}',
    'n = [{version = "<1.25", python = "<3.9"}, {version = "^1.26", python = "^3.9.2 || 4.*", markers = "os_name == \'nt\'"}]',
    'o = {version = "*", platform = "win32", python = "*"}\np = {version = "2", platform = "!=win32"}\nq = "^1|^2"',
  ];
  assert.equal(
    listed(`[tool.poetry.dependencies]\n${lines.join("\n")}\n[tool.poetry.group.dev.dependencies]\npytest = "*"\n`),
    `a>=1.2.3,<2
b>=0.2.3,<0.3
c>=1.2,<1.3
d==1.2.*
e
f>=1,<2
g==1.5
h
i~=1.4
j[x,y]>=2.0,<3 ; (os_name == 'posix')
l @ git+https://git.acme.test/l.git@v1
m @ git+ssh://git@git.acme.test/x/m.git#subdirectory=py
n<1.25 ; (python_version < "3.9")
n>=1.26,<2 ; (os_name == 'nt') and (python_full_version >= "3.9.2" and python_version < "4" or python_version == "4.*")
o ; (sys_platform == "win32")
p==2 ; (sys_platform != "win32")
q
`,
  );
  assert.equal(listed('[project]\ndependencies = ["a>=1", "b"]\n[tool.poetry.dependencies]\nc = "1"\n'), "a>=1\nb\n");
});
