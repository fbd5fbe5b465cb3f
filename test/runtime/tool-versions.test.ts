import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { monotonicNow } from "../../lib/kernel/node/system.ts";
import { isInRange } from "../../lib/kernel/text/version-range.ts";
import type { Build } from "../../lib/platform/process/build-steps.ts";
import type { Plan } from "../../lib/platform/process/detect.ts";
import { provideLanguages } from "../../lib/platform/process/language-versions.ts";
import type { Box } from "../../lib/platform/process/sandbox.ts";
import { watchSilence } from "../../lib/platform/process/silence.ts";
import { wantedGo, wantedNode, wantedPython } from "../../lib/platform/process/wanted-versions.ts";
import { missingNamespaces } from "../helpers/closed-network.ts";
import { temporaryFolder } from "../helpers/program.ts";

test("A range of versions holds what npm's own reading of it holds", () => {
  const cases: [string, string, boolean | undefined][] = [
    ["20.20.2", ">=18", true],
    ["20.20.2", "18.x", false],
    ["20.20.2", "^20.10 || >=22", true],
    ["21.1.0", "^20.10 || >=22", false],
    ["20.20.2", "20", true],
    ["20.20.2", "v20.20.1", false],
    ["20.20.2", "~20.20.0", true],
    ["20.21.0", "~20.20.0", false],
    ["0.2.9", "^0.2.3", true],
    ["0.3.0", "^0.2.3", false],
    ["0.0.4", "^0.0.3", false],
    ["1.9.9", "1.2 - 1.9", true],
    ["2.0.0", "1.2 - 1.9", false],
    ["20.20.2", ">= 18 < 21", true],
    ["20.20.2", ">20", false],
    ["20.20.2", ">20.20.1 <=20", true],
    ["20.20.2", "*", true],
    ["22.0.0-nightly", ">=22.0.0", true],
    ["10.0.0-rc.1", "10.0.0-rc.1", true],
    ["20.20.2", "", true],
    ["20.20.2", "18 || latest", undefined],
    ["20.20.2", "lts/*", undefined],
    ["20", ">=18", undefined],
  ];
  for (const [version, range, expected] of cases)
    assert.equal(isInRange(version, range), expected, `${version} ${range}`);
});

test("The first file that names a Node decides, and a word that means none leaves it to the machine", (t) => {
  const root = temporaryFolder(t);
  const write = (files: Record<string, string>) => {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(root, name), text);
  };
  assert.equal(wantedNode(root, undefined), undefined);
  write({ ".tool-versions": "python 3.12\nnodejs 18.1.0 # old\n" });
  assert.equal(wantedNode(root, undefined)?.range, "18.1.0");
  write({ ".node-version": "22\n" });
  assert.equal(wantedNode(root, "latest")?.range, "22");
  write({ ".nvmrc": "# comment\nlts/iron\n" });
  assert.deepEqual([wantedNode(root, "")?.range, wantedNode(root, "")?.from], ["20", ".nvmrc"]);
  assert.equal(wantedNode(root, ">=16 <23")?.from, "engines of package.json");
  write({ ".nvmrc": "lts/*\n", ".node-version": "$(id)\n" });
  assert.equal(wantedNode(root, undefined)?.from, ".tool-versions");
});

test("The Python and the Go that an app asks for are read from where tools look for them", (t) => {
  const asked = (files: Record<string, string>) => {
    const root = temporaryFolder(t);
    for (const [name, text] of Object.entries(files)) writeFileSync(join(root, name), text);
    const { range, from } = wantedPython(root) ?? wantedGo(root) ?? {};
    return [range, from];
  };
  const project = (line: string) => ({ "pyproject.toml": `[project]\nname = "a"\n${line}\n` });
  for (const [files, expected] of [
    [{}, undefined],
    [{ ".python-version": "3.12.1\n", "runtime.txt": "python-3.9.18\n" }, "3.12.1"],
    [{ "runtime.txt": "python-3.9.18\n" }, "3.9.18"],
    [{ ".python-version": "3.13-dev\n" }, "3.13"],
    [{ ".python-version": "a-virtual-environment\n", ".tool-versions": "nodejs 20\npython 3.11 # old\n" }, "3.11"],
    [project('requires-python = ">=3.9,<3.13"'), ">=3.9 <3.13"],
    [project('requires-python = "~=3.9"'), "^3.9"],
    [project("requires-python = '~= 3.9.2, != 3.9.5'"), "~3.9.2"],
    [project('requires-python = "==3.11.*"'), "3.11.*"],
    [{ "pyproject.toml": '[tool.poetry.dependencies]\npython = "^3.8 || ^4"\n' }, "^3.8 || ^4"],
    [{ "pyproject.toml": '[tool.hatch.envs.x]\npython = "3.8"\n[project]\nrequires-python = ">=3.11"\n' }, ">=3.11"],
    [{ "go.mod": "module a\n\ngo 1.22\n" }, ">=1.22"],
  ] as const)
    assert.equal(asked(files)[0], expected, JSON.stringify(files));
});

test("The requested Python runs if the machine has it; otherwise nothing is installed", async () => {
  const provided = async (range: string, found: string) => {
    const scripts: string[] = [];
    const start = (script: string, _: unknown, take: (chunk: Buffer) => void) => {
      if (scripts.push(script) === 1) take(Buffer.from(found));
      return { pid: undefined, kill: () => {}, ended: Promise.resolve({ code: 0, signal: null }) };
    };
    const logged: string[] = [];
    const log = ({ level, message }: { level: string; message: string }) => logged.push(`${level}: ${message}`);
    const build = { sandbox: { start }, signal: new AbortController().signal, log } as unknown as Build;
    const languages = [{ name: range === ">=1.22" ? "go" : "python", range, fetches: "1.22", from: "a file" } as const];
    await provideLanguages({ languages } as unknown as Plan, {} as Box, build);
    return [...logged, ...scripts.slice(1)].join("\n");
  };
  const machine = "3.11.2 python3\n3.11.2 /usr/bin/python3.11\n3.9.18 /usr/bin/python3.9\n";
  assert.equal(await provided("3.11", machine), "info: Python 3.11.2 runs the app (a file)");
  assert.match(
    await provided("3.9", machine),
    /^info: Python 3.9.18 runs .*\nmkdir .*exec \/usr\/bin\/python3.9 "\$@"/s,
  );
  assert.equal(
    await provided("3.11.7", machine),
    "warn: Python 3.11.2 runs the app (a file asks for 3.11.7, which this machine lacks)",
  );
  await assert.rejects(
    provided(">=3.12", machine),
    /asks for Python >=3.12 \(a file\), and the machine has 3.11.2, 3.9.18: /,
  );
  assert.equal(await provided(">=1.22", "go version go1.22.1 linux/amd64"), "");
  assert.equal(await provided(">=1.22", "go version go1.21 linux/amd64"), "", "it fetches the right one itself");
  await assert.rejects(
    provided(">=1.22", "go version go1.19.8 linux/amd64"),
    /asks for Go 1.22 .* has 1.19.8: install/,
  );
});

/** What is said about a shell command that has printed a word and then nothing. */
async function saidAbout(command: string): Promise<string> {
  const child = spawn("sh", ["-c", command], { detached: true });
  try {
    await once(child.stdout, "data");
    const heard = monotonicNow();
    return await new Promise<string>((resolve) => {
      const stop = watchSilence("Building", {
        pid: child.pid,
        heard_at: () => heard,
        hide: (text) => text.replace("1234", "[redacted]"),
        log: (line) => {
          stop();
          resolve(line.message);
        },
        after_ms: 20,
      });
    });
  } finally {
    process.kill(-(child.pid ?? 0), "SIGKILL");
  }
}

test("A step that prints nothing says what it waits for", async () => {
  // The program speaks itself: a new process bears the name of the shell at first.
  assert.match(
    await saidAbout(`perl -e '$| = 1; print "begun"; sleep 1234' & wait`),
    /^Building has printed nothing for 0 s: it waits for "perl -e \$\| = 1; print "begun"; sleep \[redacted\]"; .*buildVariables/,
  );
});

test("The program that connects a box is none of those that it waits for", {
  skip: missingNamespaces() ?? false,
}, async () => {
  const boxed = `unshare --user --net perl -e '$| = 1; <>; print "begun"; sleep 9'`;
  const said = await saidAbout(`perl -e '$| = 1; print "\\n"; sleep 8; print "pasta"' | ${boxed}`);
  assert.match(said, /: it waits for "perl -e \$\| = 1; <>; print "begun"; sleep 9", connected to nothing; /);
});
