import { readFileSync } from "node:fs";
import { quoted } from "../../kernel/shell-words.ts";

/**
 * The kernel also counts what users of a user namespace take against the namespace's owner. Boxes of a server without root could
 * so exhaust the server's own limits. A namespace keeps the limits that its creator had, so all boxes together reach theirs
 * before the server reaches its own.
 */
const counted = { nproc: "Max processes", sigpending: "Max pending signals" } as const;
const shareOfBoxes = 0.75;
/** The limits of one box. Each box has a namespace, and its use counts only there. */
const ofNamespace = ["max_inotify_instances", "max_inotify_watches"];
const shareOfOne = 1 / 8;

const read = (file: string) => {
  try {
    return readFileSync(file, "latin1");
  } catch {
    return "";
  }
};

/** A limit of this process; without one it is infinite. */
function ownLimit(name: keyof typeof counted): number {
  const [, soft] = new RegExp(`^${counted[name]}\\s+(\\d+)\\s`, "m").exec(read("/proc/self/limits")) ?? [];
  return Number(soft ?? Number.POSITIVE_INFINITY);
}

/** The option of `prlimit` that lowers a limit, and never asks for more than this process has. */
export const lowered = (name: keyof typeof counted, most: number) => `--${name}=${Math.min(most, ownLimit(name))}`;

/** The program that makes a user namespace with the words, for another program, and leaves a part of each count to this process. */
export function withinCounts(makesNamespace: readonly string[]): string[] {
  const limits = (["nproc", "sigpending"] as const).flatMap((name) => {
    const own = ownLimit(name);
    return Number.isFinite(own) ? [`--${name}=${Math.ceil(own * shareOfBoxes)}:`] : [];
  });
  const settings = ofNamespace.flatMap((name) => {
    const file = `/proc/sys/user/${name}`;
    const most = Math.ceil(Number(read(file)) * shareOfOne);
    return most > 0 ? [`echo ${most} > ${quoted(file)}`] : [];
  });
  const inNamespace = [...settings, 'exec "$@"'].join("; ");
  return ["prlimit", ...limits, ...makesNamespace, "--", "sh", "-ec", inNamespace, "sh"];
}
