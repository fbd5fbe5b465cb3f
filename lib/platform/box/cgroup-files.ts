import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { totalmem } from "node:os";
import { join } from "node:path";

/** The limits that apply to all processes of a group together. */
export interface GroupLimits {
  readonly memory_bytes: number;
  readonly processes: number;
  /** Whether a lack of memory ends all processes of the group. Otherwise, and in version 1, only the largest ends. */
  readonly endsTogether: boolean;
  readonly processors: number;
}

/** The cgroup hierarchies of this machine: one of version 2, or one per controller of version 1. */
export interface Hierarchies {
  readonly version: 1 | 2;
  /** The folder of each controller. Version 2 has one folder for all. */
  readonly memory: string;
  readonly pids: string;
  readonly cpu: string | undefined;
}

export const foldersOf = ({ memory, pids, cpu }: Hierarchies): string[] => [
  ...new Set([memory, pids, ...(cpu === undefined ? [] : [cpu])]),
];

const period_us = 100_000;

/** The content of a file; empty if it cannot be read. */
export function readIfReadable(file: string): string {
  try {
    return readFileSync(file, "latin1");
  } catch {
    return "";
  }
}

/** The content of a file of the kernel; empty if there is no such file. */
function readIfThere(file: string): string {
  try {
    return readFileSync(file, "latin1");
  } catch (error) {
    if (["ENOENT", "ENODEV"].includes((error as NodeJS.ErrnoException).code ?? "")) return "";
    throw error;
  }
}
/** Reads a number from a file with lines such as `oom_kill 3`. */
const counted = (file: string, name: string) =>
  Number(new RegExp(`^${name} (\\d+)$`, "m").exec(readIfThere(file))?.[1] ?? 0);

/** Limits the processes of a group. `at` is the group's path in the hierarchies. */
export function writeLimits(at: Hierarchies, { memory_bytes, processes, processors, endsTogether }: GroupLimits): void {
  const quota_us = Math.ceil(processors * period_us);
  writeFileSync(join(at.pids, "pids.max"), String(processes));
  if (at.version === 2) {
    writeFileSync(join(at.memory, "memory.max"), String(memory_bytes));
    // A swapping group takes the disk bandwidth of all others.
    if (existsSync(join(at.memory, "memory.swap.max"))) writeFileSync(join(at.memory, "memory.swap.max"), "0");
    writeFileSync(join(at.memory, "memory.oom.group"), endsTogether ? "1" : "0");
    if (at.cpu !== undefined) writeFileSync(join(at.cpu, "cpu.max"), `${quota_us} ${period_us}`);
    return;
  }
  writeFileSync(join(at.memory, "memory.limit_in_bytes"), String(memory_bytes));
  const withSwap = join(at.memory, "memory.memsw.limit_in_bytes");
  if (existsSync(withSwap)) writeFileSync(withSwap, String(memory_bytes));
  if (at.cpu === undefined) return;
  writeFileSync(join(at.cpu, "cpu.cfs_period_us"), String(period_us));
  writeFileSync(join(at.cpu, "cpu.cfs_quota_us"), String(quota_us));
}

/** Limits a group to a share of the memory and of the processes that this machine, or its container, has. */
export function writeShare({ version, memory, pids }: Hierarchies, share: number): void {
  const bytes = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
  const file = version === 2 ? "memory.max" : "memory.limit_in_bytes";
  writeFileSync(join(memory, file), String(Math.floor(bytes * share)));
  const most = ["pid_max", "threads-max"]
    .map((name) => Number(readIfThere(`/proc/sys/kernel/${name}`)))
    .filter((one) => one > 0);
  if (most.length > 0) writeFileSync(join(pids, "pids.max"), String(Math.floor(Math.min(...most) * share)));
}

export const memoryKills = ({ version, memory }: Hierarchies): number =>
  counted(join(memory, version === 2 ? "memory.events" : "memory.oom_control"), "oom_kill");

export const refusedProcesses = ({ pids }: Hierarchies): number => counted(join(pids, "pids.events"), "max");

export const processesIn = (at: Hierarchies): number[] => [
  ...new Set(
    foldersOf(at).flatMap((folder) =>
      readIfThere(join(folder, "cgroup.procs")).split("\n").filter(Boolean).map(Number),
    ),
  ),
];

export function below({ version, memory, pids, cpu }: Hierarchies, name: string): Hierarchies {
  return {
    version,
    memory: join(memory, name),
    pids: join(pids, name),
    cpu: cpu === undefined ? undefined : join(cpu, name),
  };
}

interface Mount {
  readonly folder: string;
  readonly root: string;
  readonly type: string;
  readonly options: readonly string[];
}

function cgroupMounts(): Mount[] {
  return readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .flatMap((line) => {
      const [first = "", second = ""] = line.split(" - ", 2);
      const [, , , root = "", folder = ""] = first.split(" ");
      const [type = "", , options = ""] = second.split(" ");
      return type === "cgroup" || type === "cgroup2" ? [{ folder, root, type, options: options.split(",") }] : [];
    });
}

/** The folder of this process's own group. `isIts` selects its line in `/proc/self/cgroup` by the controllers. */
function ownFolder({ folder, root }: Mount, isIts: (controllers: string) => boolean): string {
  const lines = readFileSync("/proc/self/cgroup", "utf8").split("\n");
  const path = lines.map((line) => line.split(":")).find(([, controllers = ""]) => isIts(controllers))?.[2] ?? "/";
  const within = root !== "/" && path.startsWith(root) ? path.slice(root.length) : path;
  // The path of a group outside the cgroup namespace begins with /.. and does not exist here.
  return existsSync(join(folder, within)) ? join(folder, within) : folder;
}

const wanted = ["memory", "pids", "cpu"] as const;
/** Disk time has no fixed limit: if boxes and server both want all of it, each side gets half. */
const sharing = "io";

/**
 * Prepares a version 2 folder for groups below it. Such a folder may not hold processes, so they move to `server`.
 */
function delegate(folder: string): void {
  const has = readIfThere(join(folder, "cgroup.controllers")).trim().split(" ");
  const enable = () =>
    writeFileSync(
      join(folder, "cgroup.subtree_control"),
      [...wanted, sharing]
        .filter((one) => has.includes(one))
        .map((one) => `+${one}`)
        .join(" "),
    );
  try {
    enable();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EBUSY") throw error;
    mkdirSync(join(folder, "server"), { recursive: true });
    for (const pid of readIfThere(join(folder, "cgroup.procs")).split("\n").filter(Boolean)) {
      try {
        writeFileSync(join(folder, "server/cgroup.procs"), pid);
      } catch {
        // The process has ended.
      }
    }
    enable();
  }
}

/**
 * Finds where this process can create groups. Undefined if no hierarchy has the controllers. Throws if that is not
 * permitted.
 */
export function findHierarchies(): Hierarchies | undefined {
  const mounts = cgroupMounts();
  const unified = mounts.find(({ type }) => type === "cgroup2");
  const root = process.getuid?.() === 0 ? unified?.folder : undefined;
  const two = root ?? (unified && ownFolder(unified, (controllers) => controllers === ""));
  const controllers = two === undefined ? [] : readIfThere(join(two, "cgroup.controllers")).trim().split(" ");
  if (two !== undefined && controllers.includes("memory") && controllers.includes("pids")) {
    delegate(two);
    return { version: 2, memory: two, pids: two, cpu: controllers.includes("cpu") ? two : undefined };
  }
  const own = (name: string) => {
    const mount = mounts.find(({ type, options }) => type === "cgroup" && options.includes(name));
    return mount && ownFolder(mount, (list) => list.split(",").includes(name));
  };
  const [memory, pids, cpu] = wanted.map(own);
  return memory === undefined || pids === undefined ? undefined : { version: 1, memory, pids, cpu };
}
export { delegate };
