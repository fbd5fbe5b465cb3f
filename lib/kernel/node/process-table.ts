import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** A process of this machine, from /proc. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
}

let pageSize: number | undefined;

/** The page size. /proc gives the size of this process in pages; Node gives it in bytes. */
function pageBytes(): number {
  const pages = Number(readFileSync("/proc/self/statm", "latin1").split(" ")[1]);
  pageSize ??= 2 ** Math.round(Math.log2(process.memoryUsage.rss() / pages));
  return pageSize;
}

/** The total memory of processes, without shared pages (libraries, and pages unchanged since a fork). */
export function memoryOf(processes: readonly ProcessEntry[]): number {
  const page = pageBytes();
  return processes.reduce((sum, { pid }) => {
    try {
      const [, resident, shared] = readFileSync(`/proc/${pid}/statm`, "latin1").split(" ");
      return sum + (Number(resident) - Number(shared)) * page;
    } catch {
      return sum; // The process has ended.
    }
  }, 0);
}

function entryOf(pid: string | number): ProcessEntry | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The program's name is in parentheses and may contain any character.
    const [state, parent, group] = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return state === "Z" ? undefined : { pid: Number(pid), parent: Number(parent), group: Number(group) };
  } catch {
    return undefined; // The process has ended.
  }
}

/** All processes that this process can see. */
export const allProcesses = (): ProcessEntry[] =>
  readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? (entryOf(name) ?? []) : []));

/** All descendants of a process among `all` processes, without the process itself. */
export function descendantsOf(pid: number, all: readonly ProcessEntry[] = allProcesses()): ProcessEntry[] {
  const children = new Map<number, ProcessEntry[]>();
  for (const one of all) {
    const siblings = children.get(one.parent);
    if (siblings) siblings.push(one);
    else children.set(one.parent, [one]);
  }
  const found = [...(children.get(pid) ?? [])];
  // Goes on with those that it adds.
  for (const one of found) found.push(...(children.get(one.pid) ?? []));
  return found;
}

/** The ids of a process: on this machine, then in each sandbox around it, the innermost last. */
export function idsOf(pid: number): number[] {
  try {
    const [, ids = ""] = /^NSpid:\s*(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1")) ?? [];
    return ids.split(/\s+/).map(Number);
  } catch {
    return []; // The process has ended.
  }
}

/** Sends a signal. It is not an error if the process has ended. */
export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended.
  }
}

/**
 * Kills processes of apps that left their group or lost their parent, so group signals miss them. They are recognized
 * by their environment.
 */
export function killStrays(isOurs: (of: { deployment_id: string; port: string | undefined }) => boolean): void {
  for (const { pid } of allProcesses()) {
    if (pid === process.pid) continue;
    try {
      const variables = readFileSync(`/proc/${pid}/environ`, "latin1");
      const read = (name: string) => new RegExp(`(?:^|\0)${name}=([^\0]*)`).exec(variables)?.[1];
      const deployment_id = read("SVC_DEPLOYMENT");
      if (deployment_id !== undefined && isOurs({ deployment_id, port: read("PORT") })) signalProcess(pid, "SIGKILL");
    } catch {
      // The process has ended, or belongs to another user.
    }
  }
}

/** Kills processes that an earlier server left behind: those that work in this folder or below. */
export function killProcessesIn(folder: string): void {
  for (const { pid } of allProcesses()) {
    try {
      if (pid !== process.pid && `${readlinkSync(`/proc/${pid}/cwd`)}/`.startsWith(`${folder}/`))
        signalProcess(pid, "SIGKILL");
    } catch {
      // The process has ended, or belongs to another user.
    }
  }
}
