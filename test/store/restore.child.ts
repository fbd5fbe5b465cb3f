/**
 * `restore` or `backup` in a process of its own, which kills itself before the Nth call that changes a file. What a call
 * would have done in several steps is half done: a copy is cut, and of a removed folder one entry is left out.
 */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { settleSwitch } from "../../lib/store/atomic-switch.ts";
import { backup, restore } from "../../lib/store/backup.ts";

const [, , command = "", from = "", to = "", last = "0"] = process.argv;
let calls = 0;

const originals = { ...fs };
/** A part of what the call would do. */
const halves: Record<string, (path: string, other: string) => void> = {
  copyFileSync: (source, target) => originals.writeFileSync(target, fs.readFileSync(source).subarray(0, 100)),
  rmSync(path) {
    const [entry] = fs.statSync(path, { throwIfNoEntry: false })?.isDirectory() ? fs.readdirSync(path) : [];
    if (entry !== undefined) originals.rmSync(join(path, entry), { recursive: true });
  },
};
const changing = ["renameSync", "copyFileSync", "mkdirSync", "rmSync", "writeFileSync"] as const;
for (const name of changing) {
  const original = originals[name] as (...given: unknown[]) => unknown;
  Object.assign(fs, {
    [name](...given: unknown[]) {
      calls += 1;
      if (calls === Number(last)) {
        halves[name]?.(String(given[0]), String(given[1]));
        process.kill(process.pid, "SIGKILL");
      }
      return original(...given);
    },
  });
}
syncBuiltinESMExports();

const force = { force: true };
if (command === "backup") await backup(from, to, force);
else if (command === "restore") await restore(from, to, force);
else settleSwitch(to);
