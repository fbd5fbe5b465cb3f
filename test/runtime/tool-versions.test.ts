import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { wantedNode } from "../../lib/drivers/process/node-version.ts";
import { watchSilence } from "../../lib/drivers/process/silence.ts";
import { monotonicNow } from "../../lib/kernel/system.ts";
import { isInRange } from "../../lib/kernel/version-range.ts";
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
