import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/** The names in /proc that a box sees besides its processes, because runtimes read them. */
const shown = new Set([
  ...["self", "thread-self", "mounts", "net", "sys"],
  ...["cpuinfo", "meminfo", "stat", "loadavg", "uptime", "version", "vmstat", "filesystems"],
]);

/**
 * Bubblewrap's arguments that hide the rest of /proc. An open file in `/proc/pressure` delays the end of its process,
 * so many processes would outlive SIGKILL. The mount option `subset=pid` would hide the shown files too. The folders
 * of processes are skipped, because they may disappear at any time.
 */
export const hiddenFiles = (nothing: { readonly folder: string; readonly file: string }, proc = "/proc"): string[] =>
  readdirSync(proc)
    .filter((name) => !shown.has(name) && !/^\d+$/.test(name))
    .flatMap((name) => {
      const stats = statSync(join(proc, name), { throwIfNoEntry: false });
      return stats ? ["--ro-bind", stats.isDirectory() ? nothing.folder : nothing.file, join("/proc", name)] : [];
    });
