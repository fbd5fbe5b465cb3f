import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** A process of this machine, from /proc. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
}

/** A file of a process in /proc; undefined if the process has ended, or belongs to another user. */
function readOf(pid: number | string, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "latin1");
  } catch {
    return undefined;
  }
}

/** The total memory of processes in bytes, without pages of files, such as libraries, and without shared memory. */
export const memoryOf = (processes: readonly ProcessEntry[]): number =>
  processes.reduce((sum, { pid }) => {
    const [, kibibytes = 0] = /^RssAnon:\s*(\d+)/m.exec(readOf(pid, "status") ?? "") ?? [];
    return sum + Number(kibibytes) * 1024;
  }, 0);

function entryOf(pid: string): ProcessEntry | undefined {
  const text = readOf(pid, "stat");
  if (text === undefined) return undefined;
  // The program's name is in parentheses and may contain any character.
  const [state, parent, group] = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return state === "Z" ? undefined : { pid: Number(pid), parent: Number(parent), group: Number(group) };
}

export const allProcesses = (): ProcessEntry[] =>
  readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? (entryOf(name) ?? []) : []));

/** None if no descriptor is free: the callers only stop processes, or look again soon. */
function processesOrNone(): readonly ProcessEntry[] {
  try {
    return allProcesses();
  } catch {
    return [];
  }
}

/** All descendants of a process among `all` processes, without the process itself. */
export function descendantsOf(pid: number, all = processesOrNone()): ProcessEntry[] {
  const children = new Map<number, ProcessEntry[]>();
  for (const one of all) {
    const siblings = children.get(one.parent);
    if (siblings) siblings.push(one);
    else children.set(one.parent, [one]);
  }
  const descendants = [...(children.get(pid) ?? [])];
  // The loop also visits the entries that it adds.
  for (const one of descendants) descendants.push(...(children.get(one.pid) ?? []));
  return descendants;
}

/** The ids of a process: on this machine, then in each sandbox around it, the innermost last. */
export function idsOf(pid: number): number[] {
  const text = readOf(pid, "status");
  const [, ids = ""] = /^NSpid:\s*(.*)$/m.exec(text ?? "") ?? [];
  return text === undefined ? [] : ids.split(/\s+/).map(Number);
}

/** Sends a signal. It is not an error if the process has ended. */
export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended.
  }
}

/** Kills processes of apps, found by their variables, since they may have left their group or lost their parent. */
export function killStrays(isOurs: (of: { deployment_id: string; port: string | undefined }) => boolean): void {
  for (const { pid } of allProcesses()) {
    const variables = pid === process.pid ? "" : (readOf(pid, "environ") ?? "");
    const read = (name: string) => new RegExp(`(?:^|\0)${name}=([^\0]*)`).exec(variables)?.[1];
    const deployment_id = read("SVC_DEPLOYMENT");
    if (deployment_id !== undefined && isOurs({ deployment_id, port: read("PORT") })) signalProcess(pid, "SIGKILL");
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
