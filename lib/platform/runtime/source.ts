import { rm } from "node:fs/promises";
import { readWithin, rootWithin } from "./app-settings.ts";
import { type BuildLimits, diskReason, type LimitedRun, watchLimits } from "./build-limits.ts";
import { writtenTo } from "./disk.ts";
import { Declined, Failure } from "./failure.ts";
import type { Git } from "./git.ts";
import type { Releases } from "./releases.ts";
import { type Submodule, shownAddress } from "./submodules.ts";
import type { Order } from "./task.ts";

interface SourcePorts {
  readonly git: Git;
  readonly releases: Releases;
  readonly limits: BuildLimits;
}

/** The variables of a build or a release. The environment's own variables win. */
export function variablesOf({ deployment_id, environment, version, variables }: Order): Record<string, string> {
  const { PORT: _, ...own } = variables;
  return {
    SVC_DEPLOYMENT: deployment_id,
    SVC_ENVIRONMENT: environment,
    ...(version !== null && { SVC_VERSION: version }),
    ...own,
  };
}

/** The values in build variables that logs must not show: keys, recognized by their names, and passwords in URLs. */
export const secretsIn = (variables: Readonly<Record<string, string>>): string[] =>
  Object.entries(variables).flatMap(([name, value]) => {
    if (/auth|key|pass|secret|token/i.test(name)) return [value];
    const [, password] = /^\w+:\/\/[^/@:]*:([^/@]+)@/.exec(value) ?? [];
    return password === undefined ? [] : [password];
  });

/** Adds the sentences about submodules to the reason of a build that failed, because it may lack them. */
export function explainMissing(missing: readonly string[], error: unknown): unknown {
  if (missing.length === 0 || !(error instanceof Failure) || error instanceof Declined) return error;
  return new Failure(`${error.message}. ${missing.join(". ")}`);
}

/** The depth to which submodules of submodules are fetched. */
const maxLevels = 3;

/** Fetches the commit of a source and writes its files, with those of its submodules, into the release's folder. */
export async function fetchSource(order: Order, run: LimitedRun, ports: SourcePorts) {
  const { source, pin } = order;
  const { log } = run;
  const app = ports.releases.appOf(order.deployment_id);
  const what = source.tag ? `tag ${source.tag}` : source.branch ? `branch ${source.branch}` : "the default branch";
  log({ level: "info", message: `Fetching ${source.repo}, ${pin === null ? what : `commit ${pin}`}` });
  const commit = await fetchInto(app, order, run, ports, run.resolved);
  log({ level: "info", message: `Checked out commit ${commit.id}` });
  const missing = await fetchSubmodules(app, commit.submodules, order, run, ports, maxLevels);
  const usesLfs = /filter=lfs/.test(readWithin(app, ".gitattributes") ?? "");
  const lfs = usesLfs ? ["Files of Git LFS are not fetched: the release has only their pointers"] : [];
  for (const message of [...missing, ...lfs]) log({ level: "warn", message });
  return { commit: commit.id, missing };
}

async function fetchInto(
  into: string,
  order: Order,
  { signal, end }: LimitedRun,
  { git, releases, limits }: SourcePorts,
  tell?: (commit: string) => void,
) {
  const app = releases.appOf(order.deployment_id);
  const resolved = await git.resolve(order, signal);
  tell?.(resolved.commit);
  let submodules: readonly Submodule[] = [];
  await git.alone(resolved, limits.disk_bytes, signal, async (before_bytes) => {
    const room = { limits, written: writtenTo([resolved.cache, app], before_bytes) };
    let isTooLarge = false;
    const passed = (reason: string) => {
      isTooLarge = true;
      end(`the repository is too large: ${reason}`);
    };
    const unwatch = watchLimits(() => undefined, room, passed);
    try {
      await git.fetch(resolved, order.source.repo, signal);
      await git.checkout(resolved, into, signal);
      submodules = await git.submodules(resolved, into, signal);
      // A fast fetch ends before the first size check.
      const reason = await diskReason(room);
      if (reason !== undefined) passed(reason);
    } finally {
      unwatch();
      if (isTooLarge) await rm(resolved.cache, { recursive: true, force: true, maxRetries: 3 });
    }
  });
  if (signal.aborted) throw new Failure("it was ended");
  return { id: resolved.commit, submodules };
}

/** Fetches submodules, each under the rules of a source. Returns a sentence about each that was not fetched. */
async function fetchSubmodules(
  into: string,
  submodules: readonly Submodule[],
  order: Order,
  run: LimitedRun,
  ports: SourcePorts,
  levels: number,
): Promise<string[]> {
  const missing: string[] = [];
  for (const one of submodules) {
    const { path, url } = one;
    const say = (reason: string) => missing.push(`The submodule ${path} was not fetched: ${reason}`);
    const of = levels === 0 ? undefined : await ports.git.orderOf(order, one, run.signal);
    if (of === undefined) {
      say(
        levels === 0
          ? "it is nested too deeply"
          : `${shownAddress(url)} is neither at the code host nor in this service`,
      );
      continue;
    }
    try {
      const folder = rootWithin(into, path, "which .gitmodules names");
      const commit = await fetchInto(folder, of, run, ports);
      run.log({ level: "info", message: `Checked out the submodule ${path}, commit ${commit.id}` });
      missing.push(...(await fetchSubmodules(folder, commit.submodules, of, run, ports, levels - 1)));
    } catch (error) {
      if (!(error instanceof Failure) || run.signal.aborted) throw error;
      say(error.message);
    }
  }
  return missing;
}
