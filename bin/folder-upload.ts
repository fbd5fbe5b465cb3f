import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { UsageError } from "./arguments.ts";
import type { Git } from "./git.ts";
import { viewRepository } from "./repository-view.ts";

export interface Commit {
  readonly sha: string;
  readonly branch: string;
  readonly isForced: boolean;
  readonly note: string | undefined;
}

const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const usualBranch = "main";
/** The mode of a tree entry that is a nested repository. */
const gitlink = "160000 ";
const name = "svc-server deploy";
const identity = {
  GIT_AUTHOR_NAME: name,
  GIT_AUTHOR_EMAIL: "deploy@localhost",
  GIT_COMMITTER_NAME: name,
  GIT_COMMITTER_EMAIL: "deploy@localhost",
};
/** Leaves the line ends of a repository's files to its user's setting. */
const ofUser = { "core.autocrlf": undefined };
/** The build recreates these folders. A `.gitignore` may include them again. */
const usuallyLeftOut = "node_modules/\n.venv/\n__pycache__/\n";

/** Quotes a path as git does if it has special characters. */
const quoted = (path: string) => `"${path.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n")}"`;

/** A repository's last commit. For any other folder, a new commit of its files, except those in `.gitignore`. */
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
  const view = await viewRepository(git, folder, join(scratch, "view"));
  const read = async (...words: string[]) => {
    if (!view) return undefined;
    const { code, stdout } = await git(["-C", folder, ...words], { env: view.env, config: ofUser });
    return code === 0 ? stdout : undefined;
  };
  const there = async (...words: string[]) => (await read(...words))?.trim();
  const format = await there("rev-parse", "--show-object-format");
  const head = await there("rev-parse", "--verify", "--quiet", "HEAD^{commit}");
  const commitTree = (tree: string) => must(["commit-tree", tree, "-m", `Deployed by ${name}`], { env: identity });

  if (view && head !== undefined && format !== "sha256" && view.top === realpathSync(folder)) {
    // One quoted path per line, because a path may contain a colon, a quote or a line break.
    writeFileSync(join(scratch, "objects/info/alternates"), `${quoted(view.objects)}\n`);
    const branch = (await there("symbolic-ref", "--quiet", "--short", "HEAD")) ?? usualBranch;
    // Changes in a submodule do not count: git would look for them with the submodule's own settings.
    const changes = await there("status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=dirty");
    const note = changes ? "uncommitted changes are not deployed" : undefined;
    // A shallow clone, as in CI, cannot be pushed. Its files become a new commit.
    if ((await there("rev-parse", "--is-shallow-repository")) === "true")
      return { sha: await commitTree(`${head}^{tree}`), branch, isForced: true, note };
    return { sha: head, branch, isForced, note };
  }

  const env = { GIT_WORK_TREE: folder };
  const files = await read("ls-files", "-z", "--cached", "--others", "--exclude-standard");
  if (files === undefined) {
    mkdirSync(join(scratch, "info"), { recursive: true });
    writeFileSync(join(scratch, "info/exclude"), usuallyLeftOut);
    await must(["-C", folder, "add", "--all", "."], { env });
  } else {
    const config = { "core.autocrlf": (await there("config", "core.autocrlf")) ?? "false" };
    await must(["-C", folder, "update-index", "-z", "--add", "--remove", "--stdin"], { env, config, input: files });
  }
  const tree = await must(["write-tree"]);
  if (tree === emptyTree) throw new UsageError(`${folder} has no files that could be deployed`);
  const nested = (await must(["ls-tree", "-r", "-z", tree])).split("\0").filter((line) => line.startsWith(gitlink));
  const names = nested.map((line) => line.slice(line.indexOf("\t") + 1)).join(", ");
  const notes = [
    ...(format === "sha256" && view?.top === realpathSync(folder)
      ? ["the files are deployed as they are, not as the last commit, because its object format is sha256"]
      : []),
    ...(names === "" ? [] : [`repositories inside of the folder are not deployed: ${names}`]),
  ];
  const note = notes.length === 0 ? undefined : notes.join("; ");
  return { sha: await commitTree(tree), branch: usualBranch, isForced: true, note };
}
