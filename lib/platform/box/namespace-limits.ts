import { quoted } from "../../kernel/text/shell-words.ts";
import { readIfReadable } from "./cgroup-files.ts";

/**
 * The kernel also counts the use of a user namespace for its owner, so boxes could exhaust the limits of a server that
 * is not root. A namespace keeps its creator's limits, so they are lowered first.
 */
const limitNames = { nproc: "Max processes", sigpending: "Max pending signals" } as const;
export const shareOfBoxes = 0.75;
/** The kernel counts these per namespace, so per box. */
const ofNamespace = ["max_inotify_instances", "max_inotify_watches"];
const shareOfOne = 1 / 8;

function ownLimit(name: keyof typeof limitNames): number {
  const [, soft] = new RegExp(`^${limitNames[name]}\\s+(\\d+)\\s`, "m").exec(readIfReadable("/proc/self/limits")) ?? [];
  return Number(soft ?? Number.POSITIVE_INFINITY);
}

/** The `prlimit` option that lowers a limit. It never exceeds the limit of this process. */
export const limitOption = (name: keyof typeof limitNames, max: number) => `--${name}=${Math.min(max, ownLimit(name))}`;

/** A command prefix that runs a program in a new user namespace, with a part of each limit. */
export function limitedNamespace(makesNamespace: readonly string[]): string[] {
  const limits = (["nproc", "sigpending"] as const).flatMap((name) => {
    const limit = ownLimit(name);
    return Number.isFinite(limit) ? [`--${name}=${Math.ceil(limit * shareOfBoxes)}:`] : [];
  });
  const settings = ofNamespace.flatMap((name) => {
    const file = `/proc/sys/user/${name}`;
    const max = Math.ceil(Number(readIfReadable(file)) * shareOfOne);
    return max > 0 ? [`echo ${max} > ${quoted(file)}`] : [];
  });
  const inNamespace = [...settings, 'exec "$@"'].join("; ");
  return ["prlimit", ...limits, ...makesNamespace, "--", "sh", "-ec", inNamespace, "sh"];
}
