import { execFileSync } from "node:child_process";
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { signalProcess } from "../../lib/kernel/node/process-table.ts";
import { quoted } from "../../lib/kernel/text/shell-words.ts";
import { below, findHierarchies, foldersOf } from "../../lib/platform/box/cgroup-files.ts";
import { temporaryFolder } from "./program.ts";
import { until } from "./until.ts";

/** An unused user id. Its subordinate ids follow below. */
const uid = 1_700_000_000 + (process.pid % 100_000);
export const subordinate = { first: 1_800_000_000, count: 65_536 };

/** Kills the processes of a control group and removes it; returns whether it is gone. */
function removed(group: string): boolean {
  if (!existsSync(group)) return true;
  for (const one of readdirSync(group, { withFileTypes: true })) if (one.isDirectory()) removed(join(group, one.name));
  for (const pid of readFileSync(join(group, "cgroup.procs"), "latin1").split("\n").filter(Boolean))
    signalProcess(Number(pid), "SIGKILL");
  try {
    rmdirSync(group);
  } catch {
    // The killed processes have not ended yet.
  }
  return !existsSync(group);
}

/**
 * An ordinary user with subordinate ids and control groups, set up as in the shipped unit. The user exists only in the
 * test's mount namespaces, whose files in `/etc` list it. Root runs the commands `asRoot` there first.
 */
export function ordinaryUser(t: TestContext, ...asRoot: string[]) {
  const folder = temporaryFolder(t);
  const range = `svc-test:${subordinate.first}:${subordinate.count}\n`;
  const files = {
    passwd: `svc-test:x:${uid}:${uid}::${folder}:/bin/sh\n${readFileSync("/etc/passwd", "utf8")}`,
    group: `svc-test:x:${uid}:\n${readFileSync("/etc/group", "utf8")}`,
    subuid: range,
    subgid: range,
    fstab: "",
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  execFileSync("mknod", ["-m", "666", join(folder, "tun"), "c", "10", "200"]);
  const found = findHierarchies();
  const groups = found ? foldersOf(below(found, `svc-test-${process.pid}`)) : [];
  for (const group of groups) {
    mkdirSync(group, { recursive: true });
    for (const file of [
      "",
      "cgroup.procs",
      ...(found?.version === 2 ? ["cgroup.subtree_control", "cgroup.threads"] : []),
    ])
      chownSync(join(group, file), uid, uid);
  }
  t.after(() =>
    until(
      () => groups.map(removed).every(Boolean),
      () => readFile("/proc/self/stat"),
    ),
  );
  const become = ["setpriv", `--reuid=${uid}`, `--regid=${uid}`, "--clear-groups", "--"];
  const script = [
    "[ -e /etc/fstab ] || : > /etc/fstab",
    ...Object.keys(files).map((name) => `mount --bind ${quoted(join(folder, name))} /etc/${name}`),
    // udev makes the device usable for everyone. Without udev, only root may use it.
    `mount --bind ${quoted(join(folder, "tun"))} /dev/net/tun`,
    ...asRoot,
    ...groups.map((group) => `echo $$ > ${quoted(join(group, "cgroup.procs"))}`),
    `exec ${become.join(" ")} "$@"`,
  ];
  return { uid, become, words: ["unshare", "--mount", "--", "sh", "-ec", script.join("\n"), "sh"] };
}
