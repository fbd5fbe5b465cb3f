import type { RefUpdate } from "./push-request.ts";

export interface PushedBranch {
  readonly branch: string;
  readonly commit: string;
  /** The files that the push changed; undefined for a new branch, and if there are too many. */
  readonly paths: readonly string[] | undefined;
}

type Read = (...args: string[]) => Promise<string | undefined>;

const branchOf = (ref: string | undefined) => /^refs\/heads\/(.+)$/.exec(ref ?? "")?.[1];

/** The most characters of file names per push. It may have many branches, each of which changes all files. */
const maxNames = 256 * 1024;

async function changed(read: Read, { before, commit }: RefUpdate): Promise<string | undefined> {
  if (before === undefined || commit === undefined) return undefined;
  return read("diff-tree", "-r", "-z", "--name-only", "--no-renames", before, commit);
}

export interface BranchChange {
  readonly branch: string;
  readonly change: "create" | "update" | "delete";
}

/**
 * The results of a push: the branches and tags that still point to its commits, and the changes of branches.
 */
export async function pushedBranches(read: Read, updates: readonly RefUpdate[]) {
  const lines = (await read("for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags")) ?? "";
  const present = new Map(lines.split("\n").map((line) => [line.slice(41), line.slice(0, 40)]));
  const branches: PushedBranch[] = [];
  const changes: BranchChange[] = [];
  const tags: string[] = [];
  let left = maxNames;
  for (const update of updates) {
    const { ref, commit } = update;
    const branch = branchOf(ref);
    const isPresent = present.get(ref) === commit;
    // Git did not store it, or it deletes a ref that does not exist.
    if (!(isPresent || update.isStored) || (commit ?? update.before) === undefined) continue;
    if (branch === undefined) {
      if (isPresent && commit !== undefined && ref.startsWith("refs/tags/")) tags.push(ref.slice("refs/tags/".length));
      continue;
    }
    changes.push({
      branch,
      change: commit === undefined ? "delete" : update.before === undefined ? "create" : "update",
    });
    // If another push has moved the branch since, that push deploys it.
    if (commit === undefined || !isPresent) continue;
    const names = left > 0 ? await changed(read, update) : undefined;
    const paths = names !== undefined && names.length <= left ? names.split("\0").filter(Boolean) : undefined;
    left -= names?.length ?? 0;
    branches.push({ branch, commit, paths });
  }
  const head = await read("symbolic-ref", "HEAD");
  if (head !== undefined && present.has(head)) return { branches, tags, changes, defaultBranch: branchOf(head) };
  // The first push sets the default branch: HEAD of an empty repository is main, which may not exist.
  const first = ["main", "master"].find((one) => present.has(`refs/heads/${one}`)) ?? branches[0]?.branch;
  if (first !== undefined) await read("symbolic-ref", "HEAD", `refs/heads/${first}`);
  return { branches, tags, changes, defaultBranch: first };
}
