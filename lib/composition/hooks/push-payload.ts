import { createHmac } from "node:crypto";
import * as v from "valibot";
import { refRule } from "../../features/deployments/source.ts";
import type { Push } from "../../features/integrations/pushes.ts";
import { isSameSecret } from "../../kernel/secrets/constant-time.ts";
import { listOf } from "../../kernel/size-limits.ts";
import { check, text, textLike } from "../../kernel/validation.ts";

const pushes = ["push", "Push Hook", "Tag Push Hook"];
export const commit = textLike(64, /^[0-9a-f]{40}([0-9a-f]{24})?$/, "must be a commit id");
const ref = v.pipe(
  textLike(1100, /^refs\/(heads|tags)\/./, "must be refs/heads/… or refs/tags/…"),
  v.check(
    (name) => refRule(name.replace(/^refs\/(heads|tags)\//, "")) === undefined,
    "must name a branch or tag that git allows",
  ),
  v.check((name) => name.isWellFormed(), "must not contain lone surrogates"),
);
const pushed = { ref, after: commit };
/** A push with more files counts as a change of all files. */
const maxFiles = 10_000;
const files = v.pipe(
  v.nullable(listOf(v.string(), maxFiles)),
  v.transform((list) => list ?? []),
);
/** A push that only adds commits to its branch, with the files of each commit. */
const addition = v.object({
  before: commit,
  created: v.optional(v.literal(false)),
  forced: v.optional(v.literal(false)),
  total_commits: v.optional(v.number()),
  total_commits_count: v.optional(v.number()),
  commits: v.pipe(
    listOf(v.object({ id: v.string(), added: files, removed: files, modified: files }), 2047),
    v.minLength(1),
  ),
});

/** The number of files in an unchecked payload. */
function filesIn(body: unknown): number {
  const lists = (one: unknown): unknown[] => Object.values(one ?? {}).filter(Array.isArray);
  const { commits } = body as { readonly commits?: unknown };
  return Array.isArray(commits) ? commits.flatMap(lists).reduce<number>((sum, one) => sum + (one as []).length, 0) : 0;
}

/**
 * The changed files; undefined if unknown. Code hosts omit commits of a long push, and the commits that a forced push
 * removes.
 */
function pathsOf(body: unknown): readonly string[] | undefined {
  if (filesIn(body) > maxFiles) return undefined;
  const { success, output } = v.safeParse(addition, body, { abortEarly: true });
  if (!success || /^0+$/.test(output.before)) return undefined;
  const { commits, total_commits, total_commits_count } = output;
  const isWhole = (total_commits ?? total_commits_count ?? commits.length) === commits.length;
  const paths = commits.flatMap(({ added, removed, modified }) => [...added, ...removed, ...modified]);
  return isWhole && paths.length > 0 ? paths : undefined;
}

/** The format of GitHub and Gitea. */
const ofRepository = v.object({ ...pushed, repository: v.object({ full_name: text() }) });
/** The format of GitLab, whose repository has no full name. */
const ofProject = v.object({ ...pushed, project: v.object({ path_with_namespace: text() }) });

/** The push in a request. Undefined for a ping, a deletion and any other event; those get a 200 and have no effect. */
export function pushOf(event: string | undefined, body: unknown): Push | undefined {
  if (event === undefined || !pushes.includes(event)) return undefined;
  const [usual, other] = event === "push" ? [ofRepository, ofProject] : [ofProject, ofRepository];
  // Either format is accepted under any event name. Errors refer to the usual format of the event.
  const payload = check(v.is(other, body) ? other : usual, body);
  // A deleted branch or tag points to a commit of forty zeros.
  if (/^0+$/.test(payload.after)) return undefined;
  const repo = "repository" in payload ? payload.repository.full_name : payload.project.path_with_namespace;
  const [, kind, name = ""] = /^refs\/(heads|tags)\/(.+)$/s.exec(payload.ref) ?? [];
  if (kind === "tags") return { repo, to: { tag: name }, paths: undefined };
  return { repo, to: { branch: name, commit: payload.after }, paths: pathsOf(body) };
}

/**
 * Whether a push is signed with this secret: `X-Hub-Signature-256` over the raw bytes, or GitLab's token, compared in
 * constant time. False without the header.
 */
export function isSigned(secret: string, bytes: Buffer, header: (name: string) => string | undefined): boolean {
  const signature = header("x-hub-signature-256");
  if (signature !== undefined) {
    const right = `sha256=${createHmac("sha256", secret).update(bytes).digest("hex")}`;
    return isSameSecret(right, signature);
  }
  const token = header("x-gitlab-token");
  return token !== undefined && isSameSecret(secret, token);
}
