import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { DeploymentSource } from "../../drivers/deployment/contract.ts";
import { Failure } from "./failure.ts";
import { createGitCaches } from "./git-cache.ts";
import { type CodeHost, createFetchCommand, type GitResult } from "./git-command.ts";
import type { GitGroup } from "./limited-git.ts";
import { repositoryIn } from "./local-repositories.ts";
import { type Submodule, sourceAt, submoduleUrls } from "./submodules.ts";

const maxSubmodules = 50;
const commitId = /^[0-9a-f]{40}$/;

export interface Resolved {
  readonly url: string;
  /** The folder that caches the project's fetches from this URL. */
  readonly cache: string;
  readonly commit: string;
  /** The ref that contains the commit: `refs/heads/main`, `refs/tags/v1` or `HEAD`. */
  readonly ref: string;
  readonly usesCredential: boolean;
  readonly isOwn: boolean;
}

type Wanted = Pick<DeploymentSource, "repo" | "branch" | "tag">;
type Order = {
  readonly organization_id: string;
  readonly project_id: string;
  readonly source: Wanted;
  readonly pin: string | null;
  readonly usesCredential: boolean;
};

const refOf = ({ branch, tag }: Wanted) => (tag ? `refs/tags/${tag}` : branch ? `refs/heads/${branch}` : "HEAD");
const describe = ({ branch, tag }: Wanted) =>
  tag ? `the tag ${tag}` : branch ? `the branch ${branch}` : "the default branch";

/** The commit of a ref in the output of `git ls-remote`. For an annotated tag, it is in the line with `^{}`. */
function commitIn(stdout: string, ref: string): string | undefined {
  const commits = new Map(stdout.split("\n").map((line) => line.split("\t", 2).reverse() as [string, string]));
  const commit = commits.get(`${ref}^{}`) ?? commits.get(ref);
  return commit !== undefined && commitId.test(commit) ? commit : undefined;
}

/** A repository of this service is read from its folder, whatever protocol the code host uses. */
const protocolOf = ({ isOwn }: Pick<Resolved, "isOwn">): Record<string, string> =>
  isOwn ? { GIT_ALLOW_PROTOCOL: "file" } : {};

/** Git's message without paths of this machine, because callers read it in their deployment's log. */
const withoutPaths = (reason: string): string =>
  reason
    .replaceAll(/'(?:file:\/\/)?\/[^']*'/g, "the repository")
    .replaceAll(/(?<![\w:/.])(?:file:\/\/)?\/[^\s'"]+/g, "the repository");

/** Access to repositories by name: resolves a ref, fetches a commit into the project's cache, and writes its files. */
export function createGit(folder: string, caches: string, host: CodeHost, group?: GitGroup) {
  const git = createFetchCommand(folder, host, group);
  const caching = createGitCaches();

  const hasCredential = host.token !== undefined || host.url.startsWith("ssh:");

  const urlOf = (repo: string): string => {
    if (host.repos === undefined) return host.url.replaceAll("{repo}", repo);
    const path = repositoryIn(host.repos, repo);
    if (!path)
      throw new Failure(`no repository ${repo} in ${host.repos}: neither ${repo} nor ${repo.split("/")[1]} is there`);
    return pathToFileURL(path).href;
  };

  /** The commits that the credential fetched have a separate cache, because an organization may lose access. */
  const cacheOf = (project_id: string, url: string, usesCredential: boolean) => {
    const name = createHash("sha256").update(usesCredential ? url : `${url} public`);
    return join(caches, project_id, "git", `${name.digest("hex").slice(0, 32)}.git`);
  };

  const explain = (repo: string | null, { reason }: GitResult, usesCredential: boolean) => {
    if (host.repos === undefined && host.url.startsWith("file:") && /does not appear to be|not a git rep/.test(reason))
      return new Failure(
        `${repo} cannot be read: the code host has no such repository, or the user of the service may not read it`,
      );
    if (/error: 30[12378]|redirect/.test(reason))
      return new Failure(
        `${repo} cannot be read: the code host redirects elsewhere, and redirects are not followed; has the repository moved?`,
      );
    const isRefused = /askpass|Authentication failed|could not read Username|Permission denied|error: 40[13]/.test(
      reason,
    );
    if (isRefused && !usesCredential && hasCredential)
      return new Failure(
        `${repo} cannot be read: the code host refuses a fetch without a credential, and the service's credential is not for this organization and repository (option codeHost.organizations)`,
      );
    return new Failure(
      isRefused
        ? `${repo} cannot be read: the code host refuses ${host.token === undefined ? "a fetch without a credential; set" : "the credential; correct"} codeHost.token`
        : `${repo} cannot be read: ${withoutPaths(reason)}`,
    );
  };

  const ownOf = async ({ organization_id, source: { repo }, pin }: Order, signal: AbortSignal) =>
    repo === null ? undefined : host.own?.({ organization_id, repo }, pin, signal);

  return {
    /** Resolves a source to a commit. A known commit is not looked up again, even if its branch or tag has moved. */
    async resolve(order: Order, signal: AbortSignal): Promise<Resolved> {
      const { project_id, source, pin } = order;
      const ownPath = await ownOf(order, signal);
      const isOwn = ownPath !== undefined;
      const usesCredential = order.usesCredential && !isOwn;
      // A folder contains no public repositories.
      if (!isOwn && !usesCredential && (host.repos !== undefined || host.url.startsWith("file:")))
        throw new Failure(`${source.repo} may not be read by this organization (option codeHost.organizations)`);
      const url = ownPath === undefined ? urlOf(source.repo ?? "") : pathToFileURL(ownPath).href;
      const cache = cacheOf(project_id, url, usesCredential);
      const ref = refOf(source);
      if (pin !== null && commitId.test(pin)) return { url, cache, commit: pin, ref, usesCredential, isOwn };
      const listed = await git(["ls-remote", "--quiet", "--", url, ref, `${ref}^{}`], {
        signal,
        timeout: "30s",
        usesCredential,
        env: protocolOf({ isOwn }),
      });
      if (!listed.ok) throw explain(source.repo, listed, usesCredential);
      const commit = commitIn(listed.stdout, ref);
      if (commit === undefined) throw new Failure(`${source.repo} has no commit at ${describe(source)}`);
      return { url, cache, commit, ref, usesCredential, isOwn };
    },

    /** Runs `work` with exclusive use of a repository's cache and passes the size of the cache. */
    alone: ({ cache }: Resolved, max_bytes: number, signal: AbortSignal, work: (bytes: number) => Promise<void>) =>
      caching.alone(cache, signal, async () => work(await caching.shrink(cache, max_bytes))),

    /** Fetches a commit into its repository's cache, unless the cache has it. */
    async fetch(of: Resolved, repo: string | null, signal: AbortSignal): Promise<void> {
      const { url, cache, commit, ref, usesCredential } = of;
      const inCache = ["--git-dir", cache];
      const target = `refs/svc/${commit}`;
      const verify = (name: string) =>
        git([...inCache, "rev-parse", "--quiet", "--verify", name], { signal, timeout: "30s" });
      const fetchInto = (depth: readonly string[], refspec: string) =>
        git([...inCache, "fetch", "--quiet", ...depth, "--no-tags", "--no-recurse-submodules", "--", url, refspec], {
          signal,
          timeout: "5m",
          usesCredential,
          env: protocolOf(of),
        });
      if (!existsSync(join(cache, "HEAD"))) {
        await mkdir(cache, { recursive: true });
        await git(["init", "--quiet", "--bare", "--", cache], { signal, timeout: "30s" });
      }
      if ((await verify(target)).ok) return;
      const exact = await fetchInto(["--depth=1"], `+${commit}:${target}`);
      if (exact.ok) return;
      if (exact.wasEnded) throw explain(repo, exact, usesCredential);
      // Some servers do not serve a commit by its id alone.
      const whole = await fetchInto([], `+${ref}:refs/svc/from/${commit}`);
      if (!whole.ok) throw explain(repo, exact.reason.includes("not our ref") ? whole : exact, usesCredential);
      if (!(await verify(`${commit}^{commit}`)).ok) throw new Failure(`${repo} no longer has the commit ${commit}`);
      await git([...inCache, "update-ref", target, commit], { signal, timeout: "30s" });
    },

    async submodules({ cache, commit }: Resolved, app: string, signal: AbortSignal): Promise<Submodule[]> {
      const urls = submoduleUrls(app);
      if (urls.size === 0) return [];
      const paths = [...urls.keys()].slice(0, maxSubmodules).map((path) => `:(literal)${path}`);
      const listed = await git(["--git-dir", cache, "ls-tree", "-z", commit, "--", ...paths], {
        signal,
        timeout: "30s",
      });
      return listed.stdout.split("\0").flatMap((line) => {
        const [, id, path = ""] = /^160000 commit ([0-9a-f]{40})\t(.+)$/s.exec(line) ?? [];
        const url = urls.get(path);
        return id === undefined || url === undefined ? [] : [{ path, url, commit: id }];
      });
    },

    /** The order for a submodule; undefined if its address is neither at this service nor at the code host. */
    async orderOf<O extends Order>(
      order: O,
      { url, commit: pin }: Submodule,
      signal: AbortSignal,
    ): Promise<O | undefined> {
      const target = sourceAt(url, { parent: order.source.repo ?? "", host: host.url });
      if (!target) return undefined;
      const { repo, isOfHost } = target;
      const usesCredential = (await host.mayFetch?.(order.organization_id, repo)) ?? false;
      const of = { ...order, source: { ...order.source, repo, branch: null, tag: null }, pin, usesCredential };
      return isOfHost || host.repos !== undefined || (await ownOf(of, signal)) !== undefined ? of : undefined;
    },

    /** Writes the files of a fetched commit, without `.git`. */
    async checkout({ cache, commit }: Resolved, into: string, signal: AbortSignal): Promise<void> {
      const index = join(cache, "svc-checkout.index");
      await mkdir(into, { recursive: true });
      const written = await git(
        [
          ...["--git-dir", cache, "--work-tree", into, "-c", "core.bare=false"],
          ...["checkout", "--quiet", "--force", `refs/svc/${commit}`, "--", "."],
        ],
        { signal, timeout: "5m", env: { GIT_INDEX_FILE: index } },
      );
      await rm(index, { force: true });
      if (!written.ok) throw new Failure(`the commit ${commit} cannot be checked out: ${withoutPaths(written.reason)}`);
    },
  };
}
export type Git = ReturnType<typeof createGit>;
