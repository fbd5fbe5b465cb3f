import { existsSync, mkdirSync, readdirSync, rmdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { systemTimer } from "../../kernel/clock.ts";
import type { Group } from "../../kernel/node/child-process.ts";
import { signalProcess } from "../../kernel/node/process-table.ts";
import {
  below,
  delegate,
  findHierarchies,
  foldersOf,
  type GroupLimits,
  type Hierarchies,
  memoryKills,
  processesIn,
  refusedProcesses,
  writeLimits,
  writeShare,
} from "./cgroup-files.ts";
import { shareOfBoxes } from "./namespace-limits.ts";

export interface Groups {
  make(limits: Omit<GroupLimits, "processors">): Group;
  /** The limits that the machine does not support; undefined if it supports all. */
  readonly lacks: string | undefined;
  close(): void;
}

const prefix = "svc-server-";
const removal = { tries: 200, pause: "5ms" } as const;

function tryRemove(at: Hierarchies): boolean {
  for (const pid of processesIn(at)) signalProcess(pid, "SIGKILL");
  return foldersOf(at).every((folder) => {
    try {
      rmdirSync(folder);
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === "ENOENT";
    }
    return true;
  });
}

const isRunning = (pid: string) => existsSync(`/proc/${pid}`);

/** The groups of the boxes in a group, which another server may be removing too. */
function boxesIn(group: string): string[] {
  try {
    return readdirSync(group).filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

function removeLeftovers(at: Hierarchies): void {
  for (const folder of foldersOf(at)) {
    for (const name of readdirSync(folder)) {
      const [, pid] = new RegExp(`^${prefix}(\\d+)-`).exec(name) ?? [];
      if (pid === undefined || isRunning(pid)) continue;
      for (const box of boxesIn(join(folder, name))) tryRemove(below(below(at, name), box));
      tryRemove(below(at, name));
    }
  }
}

let parents = 0;

/** Creates a control group for each box. Returns a reason if this machine or this user cannot. */
export function createGroups(): Groups | string {
  let hierarchies: Hierarchies | undefined;
  let parent: Hierarchies;
  try {
    hierarchies = findHierarchies();
    if (!hierarchies) return "this machine has no control groups that limit memory and processes";
    removeLeftovers(hierarchies);
    // All boxes together get as much processor time as the server if both want all of it.
    parent = below(hierarchies, `${prefix}${process.pid}-${++parents}`);
    for (const folder of foldersOf(parent)) mkdirSync(folder);
    if (parent.version === 2) delegate(parent.memory);
    writeShare(parent, shareOfBoxes);
  } catch (error) {
    return `this user may not make control groups (${(error as Error).message})`;
  }
  let boxes = 0;
  const left = new Set<Hierarchies>();
  return {
    lacks: parent.cpu === undefined ? "processor time is not limited" : undefined,

    make(limits) {
      const at = below(parent, String(++boxes));
      for (const folder of foldersOf(at)) mkdirSync(folder);
      left.add(at);
      writeLimits(at, { ...limits, processors: processorsOfBox() });
      return {
        entries: foldersOf(at).map((folder) => join(folder, "cgroup.procs")),
        passed: () => (memoryKills(at) > 0 ? "memory" : refusedProcesses(at) > 0 ? "processes" : undefined),
        async remove() {
          for (let tries = 0; !tryRemove(at) && tries < removal.tries; tries++)
            await new Promise<void>((resolve) => systemTimer(removal.pause, resolve, { hold: true }));
          left.delete(at);
        },
      };
    },

    close() {
      for (const at of left) tryRemove(at);
      tryRemove(parent);
    },
  };
}

/** A box never gets all processors, so the server soon finds a free one. */
const processorsOfBox = () => Math.max(0.8, availableParallelism() - 0.2);
