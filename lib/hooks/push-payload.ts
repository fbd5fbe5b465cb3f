import { createHmac } from "node:crypto";
import * as v from "valibot";
import { refRule } from "../deployments/source.ts";
import { isSameSecret } from "../kernel/constant-time.ts";
import { check, text, textLike } from "../kernel/validation.ts";

/** A push, whichever of the three code hosts sent it. */
export interface Push {
  readonly repo: string;
  /** A branch with the commit that it points to now, or a tag. */
  readonly to: { readonly branch: string; readonly commit: string } | { readonly tag: string };
}

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
/** The form of GitHub and Gitea. */
const ofRepository = v.object({ ...pushed, repository: v.object({ full_name: text() }) });
/** The form of GitLab, whose repository has no full name. */
const ofProject = v.object({ ...pushed, project: v.object({ path_with_namespace: text() }) });

/** The push in a request; undefined for a ping, a deletion and any other event, which are 200 and do nothing. */
export function pushOf(event: string | undefined, body: unknown): Push | undefined {
  if (event === undefined || !pushes.includes(event)) return undefined;
  const [usual, other] = event === "push" ? [ofRepository, ofProject] : [ofProject, ofRepository];
  // Either form is taken, whichever name the event has. Any other body is checked against the usual form.
  const payload = check(v.is(other, body) ? other : usual, body);
  // A branch or tag that was deleted points to a commit of forty zeros.
  if (/^0+$/.test(payload.after)) return undefined;
  const repo = "repository" in payload ? payload.repository.full_name : payload.project.path_with_namespace;
  const [, kind, name = ""] = /^refs\/(heads|tags)\/(.+)$/s.exec(payload.ref) ?? [];
  return { repo, to: kind === "tags" ? { tag: name } : { branch: name, commit: payload.after } };
}

/**
 * Whether a push is signed with this secret: `X-Hub-Signature-256` over the raw bytes, or GitLab's token, compared in
 * constant time. No header is no signature.
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
