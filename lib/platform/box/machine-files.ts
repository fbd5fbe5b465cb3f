import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/** What a box sees in /proc: its own processes, and the files of the machine that runtimes read. */
const shown = new Set([
  ...["self", "thread-self", "mounts", "net", "sys"],
  ...["cpuinfo", "meminfo", "stat", "loadavg", "uptime", "version", "vmstat", "filesystems"],
]);

/**
 * The arguments of bubblewrap that put nothing in the place of the rest of /proc. Each open file in `/proc/pressure`
 * holds up the end of its process, so many of them outlive SIGKILL. The mount option `subset=pid` leaves no place for
 * the files that are shown. Processes may end while the names are read, and some kernels list no types, so only what is
 * no process is looked at.
 */
export const hiddenFiles = (nothing: { readonly folder: string; readonly file: string }, proc = "/proc"): string[] =>
  readdirSync(proc)
    .filter((name) => !shown.has(name) && !/^\d+$/.test(name))
    .flatMap((name) => {
      const found = statSync(join(proc, name), { throwIfNoEntry: false });
      return found ? ["--ro-bind", found.isDirectory() ? nothing.folder : nothing.file, join("/proc", name)] : [];
    });
