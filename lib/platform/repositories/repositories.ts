import { setMaxListeners } from "node:events";
import { existsSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { RepositoryName } from "../../features/repositories/service.ts";
import { Problem } from "../../kernel/errors.ts";
import { AbortController } from "../../kernel/node/web.ts";
import { createRandom } from "../../kernel/random.ts";
import { lackOfDisk } from "../runtime/disk.ts";
import { removeGitLeftovers } from "../runtime/git-cache.ts";
import { createGitCommand, type GitCommand } from "../runtime/git-command.ts";
import type { GitGroup } from "../runtime/limited-git.ts";
import { type BackendAnswer, type BackendRequest, httpBackend } from "./http-backend.ts";
import { gitSettings, settleRepository } from "./settings.ts";
import { storedRepositories } from "./stored-repositories.ts";

/** Each push adds a pack. Above this number, packs are merged. */
const maxPacks = 20;
/** The most concurrent git requests of an organization. Each takes several processes. */
const maxRequests = 16;
const refusedEnd = /\.lock$|\.$/;

export type Repositories = ReturnType<typeof createRepositories>;

/** The git repositories that the service hosts: bare, one folder per organization, served by `git http-backend`. */
export function createRepositories(folder: string, { pushLimit }: { readonly pushLimit: number }, group?: GitGroup) {
  const hostFolder = join(folder, ".host");
  const template = join(hostFolder, "empty.git");
  const closing = new AbortController();
  setMaxListeners(0, closing.signal); // One for each running request of git.
  const pushing = new Map<string, number>();
  const serving = new Map<string, number>();
  /** The cleanup by the first of several concurrent pushes. The others wait for it. */
  const tidied = new Map<string, Promise<void>>();
  let newSettings: Buffer;
  let begun: Promise<GitCommand> | undefined;

  /** Repositories that exist share the template's settings, so its formats must not change with git's version. */
  const formats = ["-c", "init.defaultObjectFormat=sha1", "-c", "init.defaultRefFormat=files"];

  const begin = async () => {
    const command = createGitCommand(hostFolder, gitSettings(pushLimit), group);
    await rm(template, { recursive: true, force: true });
    const init = ["init", "--quiet", "--bare", "--template=", "--initial-branch=main", "--", template];
    const created = await command.git([...formats, ...init], { signal: closing.signal, timeout: "30s" });
    if (!created.ok) throw new Error(`git cannot make a repository: ${created.reason}`);
    newSettings = await readFile(join(template, "config"));
    return command;
  };
  const ready = () => {
    begun ??= begin().catch((error) => {
      begun = undefined;
      throw error;
    });
    return begun;
  };

  const pathOf = ({ organization_id, repo }: RepositoryName) =>
    join(folder, organization_id, `${repo.toLowerCase()}.git`);

  const find = (name: RepositoryName): string | undefined => {
    const path = pathOf(name);
    return existsSync(join(path, "HEAD")) ? path : undefined;
  };

  /** Two concurrent first pushes share one repository: the rename of the second fails, and it uses the first one's. */
  const make = async (name: RepositoryName): Promise<string> => {
    const path = pathOf(name);
    if (existsSync(path)) return path;
    const half = `${path}.${createRandom().alphanumeric(16)}.half`;
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await cp(template, half, { recursive: true });
    await rename(half, path).catch((error) => {
      if (!existsSync(path)) throw error;
    });
    await rm(half, { recursive: true, force: true });
    return path;
  };

  /** Counts a running push. The first of several concurrent pushes removes the leftovers of a killed push. */
  const beginPush = async (repository: string): Promise<() => void> => {
    const isFirst = !pushing.has(repository);
    const leave = count(pushing, repository);
    if (isFirst) tidied.set(repository, removeGitLeftovers(repository));
    await tidied.get(repository)?.catch((error) => {
      leave();
      throw error;
    });
    return leave;
  };

  const read = async (path: string, ...args: string[]) => {
    const { git } = await ready();
    const { ok, stdout } = await git(["--git-dir", path, ...args], { signal: closing.signal, timeout: "30s" });
    return ok ? stdout.trim() : undefined;
  };

  /**
   * Merges small packs after the last concurrent push has its response. Git needs no lock for this. If the merge fails,
   * the next push tries again.
   */
  const repack = async (path: string): Promise<void> => {
    if (pushing.get(path) !== 1) return;
    const files = await readdir(join(path, "objects/pack")).catch(() => []);
    if (files.filter((name) => name.endsWith(".pack")).length < maxPacks) return;
    const { git } = await ready();
    const args = ["--git-dir", path, "repack", "--geometric=2", "-d", "--quiet"];
    await git(args, { signal: closing.signal, timeout: "1h" });
  };

  return {
    /**
     * The folder of a repository that has a commit, or for null any branch or tag. If it is undefined, the code host's
     * repository of that name counts. By default a shutdown does not end the look, because the answer would be wrong.
     */
    async open(name: RepositoryName, commit: string | null, signal: AbortSignal = new AbortController().signal) {
      const path = find(name);
      if (path === undefined) return undefined;
      const { git } = await ready();
      await settleRepository(path, newSettings);
      const look = commit === null ? ["for-each-ref", "--count=1"] : ["cat-file", "-t", commit];
      const { ok, stdout } = await git(["--git-dir", path, ...look], { signal, timeout: "30s" });
      return ok && stdout !== "" ? path : undefined;
    },

    /** Why a hosted repository cannot have this name; undefined if it can. */
    refuses: (repo: string): string | undefined =>
      repo.split("/").some((part) => refusedEnd.test(part))
        ? "a part of a repository's name must not end with a dot or with .lock"
        : undefined,

    /** Serves a git request. Undefined if the repository does not exist and only a push would create it. */
    async serve(
      name: RepositoryName,
      request: Omit<BackendRequest, "repository">,
      mayMake: boolean,
    ): Promise<BackendAnswer | undefined> {
      const command = await ready();
      const { organization_id } = name;
      if ((serving.get(organization_id) ?? 0) >= maxRequests)
        throw new Problem(
          "rate_limited",
          `${maxRequests} git requests of this organization run already; try again later`,
          { headers: { "retry-after": "5" } },
        );
      const leaves = [count(serving, organization_id)];
      const leave = () => {
        for (const one of leaves) one();
      };
      try {
        // Also for the first request of a push: git shows its user the reason of a refusal only there.
        const lack = mayMake ? await lackOfDisk(folder, "a push") : undefined;
        if (lack !== undefined) throw new Problem("unavailable", lack, { headers: { "retry-after": "60" } });
        const isPush = request.service === "git-receive-pack";
        // A repository that does not exist yet answers like an empty one.
        const repository = isPush ? await make(name) : (find(name) ?? (mayMake ? template : undefined));
        if (repository === undefined) {
          leave();
          return undefined;
        }
        if (repository !== template) await settleRepository(repository, newSettings);
        if (isPush) leaves.push(await beginPush(repository));
        const answer = await httpBackend({ ...request, repository }, command, closing.signal);
        void answer.closed.then(() => (isPush ? repack(repository) : undefined)).finally(leave);
        return answer;
      } catch (error) {
        leave();
        throw error;
      }
    },

    ...storedRepositories({ folder, pathOf, read }),

    /** Ends the running requests. Completed pushes stay. */
    close: () => closing.abort(),
  };
}

/** Adds one to a count. The returned function subtracts it again. */
function count(counts: Map<string, number>, name: string): () => void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
  return () => {
    const left = (counts.get(name) ?? 1) - 1;
    if (left > 0) counts.set(name, left);
    else counts.delete(name);
  };
}
