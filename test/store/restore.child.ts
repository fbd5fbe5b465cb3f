/**
 * Runs `restore`, `backup` or `settle` in a process of its own, which kills itself before the Nth call that changes a
 * file. The call is half done by then: a copy is cut, and a folder loses one entry. For N = 0 the command runs to its
 * end; before each such call it copies the folder in the state that a kill would leave. Prints the number of calls.
 */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { dirname, join } from "node:path";
import { settleSwitch } from "../../lib/store/sqlite/atomic-switch.ts";
import { backup, restore } from "../../lib/store/transfer/backup.ts";

const [, , command = "", from = "", to = "", last = "0"] = process.argv;
const folder = dirname(to);
let calls = 0;
let isCopying = false;

const originals = { ...fs };
/** Does a part of the call's work. */
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
