/**
 * `restore` or `backup` in a process of its own, which kills itself before the Nth call that changes a file. What a call
 * would have done in several steps is half done: a copy is cut, and of a removed folder one entry is left out. For N = 0 it
 * goes on to its end, and copies the folder before each call, half done there: as a kill would leave it. It prints how many
 * copies it made.
 */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { dirname, join } from "node:path";
import { settleSwitch } from "../../lib/store/atomic-switch.ts";
import { backup, restore } from "../../lib/store/backup.ts";

const [, , command = "", from = "", to = "", last = "0"] = process.argv;
const folder = dirname(to);
let calls = 0;
let isCopying = false;

const originals = { ...fs };
/** A part of the call's work. */
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
      if (isCopying) return original(...given);
      calls += 1;
      const half = (at: string) => {
        const [path = "", other = ""] = given.map((one) => String(one).replace(folder, at));
        halves[name]?.(path, other);
      };
      if (last === "0") {
        isCopying = true;
        fs.cpSync(folder, `${folder}-${calls}`, { recursive: true });
        half(`${folder}-${calls}`);
        isCopying = false;
      } else if (calls === Number(last)) {
        half(folder);
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
process.stdout.write(String(calls));
