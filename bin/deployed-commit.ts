import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { UsageError } from "./arguments.ts";
import type { Git } from "./git.ts";

/** What is pushed of a folder. */
export interface Commit {
  readonly sha: string;
  readonly branch: string;
  /** Whether it replaces what the branch has. */
  readonly isForced: boolean;
  /** Where git finds its objects. */
  readonly env: Readonly<Record<string, string>>;
  /** What of the folder is not deployed. */
  readonly note: string | undefined;
}

const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const usualBranch = "main";
const name = "svc-server deploy";
const identity = {
  GIT_AUTHOR_NAME: name,
  GIT_AUTHOR_EMAIL: "deploy@localhost",
  GIT_COMMITTER_NAME: name,
  GIT_COMMITTER_EMAIL: "deploy@localhost",
};
/** What a package manager makes is made anew by the build. A `.gitignore` may bring it back. */
const usuallyLeftOut = "node_modules/\n.venv/\n__pycache__/\n";

/** The last commit of a repository, or for any other folder a commit of the files that `.gitignore` leaves. */
export async function commitOf(
  git: Git,
  { folder, scratch, isForced }: { readonly folder: string; readonly scratch: string; readonly isForced: boolean },
): Promise<Commit> {
  const must = async (words: readonly string[], more: Parameters<Git>[1] = {}) => {
    const { code, stdout, said } = await git(words, more);
    if (code !== 0) throw new Error(`${folder} cannot be read: ${said.trim().replace(/^(fatal|error): /, "")}`);
    return stdout.trim();
  };
  await must(["init", "--quiet", "--bare", "--template=", "--", scratch]);
  const read = async (...words: string[]) => {
    const { code, stdout } = await git(["-C", folder, ...words], { there: true });
    return code === 0 ? stdout : undefined;
  };
  const there = async (...words: string[]) => (await read(...words))?.trim();
  const top = await there("rev-parse", "--show-toplevel");
  const head = top === undefined ? undefined : await there("rev-parse", "--verify", "--quiet", "HEAD^{commit}");
  const commitTree = async (tree: string, env: Readonly<Record<string, string>>) =>
    must(["commit-tree", tree, "-m", `Deployed by ${name}`], { env: { ...identity, ...env } });

  if (top !== undefined && head !== undefined && realpathSync(top) === realpathSync(folder)) {
    const objects = (await there("rev-parse", "--path-format=absolute", "--git-path", "objects")) ?? "";
    const env = { GIT_ALTERNATE_OBJECT_DIRECTORIES: objects };
    const branch = (await there("symbolic-ref", "--quiet", "--short", "HEAD")) ?? usualBranch;
    const isDirty = (await there("status", "--porcelain", "--untracked-files=normal")) !== "";
    const note = isDirty ? "changes that are not committed are not deployed" : undefined;
    // Without its history, as a CI checks it out, a commit cannot be pushed: its files are.
    if ((await there("rev-parse", "--is-shallow-repository")) === "true")
      return { sha: await commitTree(`${head}^{tree}`, env), branch, isForced: true, env, note };
    return { sha: head, branch, isForced, env, note };
  }

  const env = { GIT_WORK_TREE: folder };
  const files = await read("ls-files", "-z", "--cached", "--others", "--exclude-standard");
  if (files === undefined) {
    mkdirSync(join(scratch, "info"), { recursive: true });
    writeFileSync(join(scratch, "info/exclude"), usuallyLeftOut);
    await must(["-C", folder, "add", "--all", "."], { env });
  } else await must(["-C", folder, "update-index", "-z", "--add", "--remove", "--stdin"], { env, input: files });
  const tree = await must(["write-tree"]);
  if (tree === emptyTree) throw new UsageError(`${folder} has no files that could be deployed`);
  return { sha: await commitTree(tree, {}), branch: usualBranch, isForced: true, env: {}, note: undefined };
}
