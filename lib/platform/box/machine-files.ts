import { readdirSync } from "node:fs";
import { join } from "node:path";

/** What a box sees in /proc: its own processes, and the files of the machine that runtimes read. */
const shown = new Set([
  ...["self", "thread-self", "mounts", "net", "sys"],
  ...["cpuinfo", "meminfo", "stat", "loadavg", "uptime", "version", "vmstat", "filesystems"],
]);

/**
 * The arguments of bubblewrap that put nothing in the place of the rest of /proc. Each open file in `/proc/pressure`
 * holds up the end of its process, so many of them outlive SIGKILL. The mount option `subset=pid` leaves no place for
 * the files that are shown.
 */
export const hiddenFiles = (nothing: { readonly folder: string; readonly file: string }): string[] =>
  readdirSync("/proc", { withFileTypes: true })
    .filter(({ name }) => !shown.has(name) && !/^\d+$/.test(name))
    .flatMap((one) => ["--ro-bind", one.isDirectory() ? nothing.folder : nothing.file, join("/proc", one.name)]);
