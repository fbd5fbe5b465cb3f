import { rm } from "node:fs/promises";
import { hasWithin, readWithin } from "./app-settings.ts";
import type { Order } from "./background-steps.ts";
import { type BuildLimits, diskReason, type LimitedRun, watchLimits } from "./build-limits.ts";
import { writtenTo } from "./disk.ts";
import { Failure } from "./failure.ts";
import type { Git } from "./git.ts";
import type { Releases } from "./releases.ts";

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

/** Fetches the commit of a source and writes its files into the release's folder. Returns the commit. */
export async function fetchSource(
  order: Order,
  { log, signal, end, resolved: tell }: LimitedRun,
  { git, releases, limits }: SourcePorts,
): Promise<string> {
  const { source, pin } = order;
  const app = releases.appOf(order.deployment_id);
  const what = source.tag ? `tag ${source.tag}` : source.branch ? `branch ${source.branch}` : "the default branch";
  log({ level: "info", message: `Fetching ${source.repo}, ${pin === null ? what : `commit ${pin}`}` });
  const resolved = await git.resolve(order, signal);
  tell?.(resolved.commit);
  await git.alone(resolved, limits.disk_bytes, signal, async (before_bytes) => {
    const room = { limits, written: writtenTo([resolved.cache, app], before_bytes) };
    let isTooLarge = false;
    const passed = (reason: string) => {
      isTooLarge = true;
      end(`the repository is too large: ${reason}`);
    };
    const unwatch = watchLimits(() => undefined, room, passed);
    try {
      await git.fetch(resolved, source.repo, signal);
      await git.checkout(resolved, app, signal);
      // A fast fetch ends before the first size check.
      const reason = await diskReason(room);
      if (reason !== undefined) passed(reason);
    } finally {
      unwatch();
      if (isTooLarge) await rm(resolved.cache, { recursive: true, force: true, maxRetries: 3 });
    }
  });
  if (signal.aborted) throw new Failure("it was ended");
  log({ level: "info", message: `Checked out commit ${resolved.commit}` });
  for (const message of notices(app)) log({ level: "warn", message });
  return resolved.commit;
}

/** Warnings about parts that are not fetched and would be missing. */
function notices(app: string): string[] {
  const usesLfs = /filter=lfs/.test(readWithin(app, ".gitattributes") ?? "");
  return [
    ...(hasWithin(app, ".gitmodules") ? ["Submodules are not fetched"] : []),
    ...(usesLfs ? ["Files of Git LFS are not fetched: the release has only their pointers"] : []),
  ];
}
