import * as v from "valibot";
import { refRule } from "../../features/deployments/source.ts";
import type { PullRequest } from "../../features/integrations/previews.ts";
import { isoOf } from "../../kernel/clock.ts";
import { foldCase } from "../../kernel/text/case-folding.ts";
import { check, text } from "../../kernel/validation.ts";
import { commit } from "./push-payload.ts";

const events = ["pull_request", "Merge Request Hook"];

/** The actions that can change a preview, as GitHub, Gitea and GitLab name them. Labels and comments change none. */
const effects: Readonly<Record<string, PullRequest["action"]>> = {
  opened: "push",
  synchronize: "push",
  synchronized: "push",
  reopened: "reopen",
  closed: "close",
  open: "push",
  update: "push",
  reopen: "reopen",
  close: "close",
  merge: "close",
};

const number = v.pipe(
  v.number("must be a number"),
  v.integer("must be a whole number"),
  v.minValue(1),
  v.maxValue(1e9),
);
const link = v.nullish(v.pipe(text(), v.maxLength(2048), v.regex(/^https?:\/\//i, "must be a URL")));
const branch = v.pipe(
  text(),
  v.check((name) => refRule(name) === undefined && name.isWellFormed(), "must be a branch that git allows"),
);
const named = v.object({ full_name: text() });
/** The format of GitHub and Gitea. A deleted fork has no repository. */
const ofPull = v.object({
  action: text(),
  repository: named,
  pull_request: v.object({
    number,
    html_url: link,
    updated_at: v.nullish(text()),
    head: v.object({ ref: branch, sha: commit, repo: v.nullish(named) }),
  }),
});
const project = v.object({ path_with_namespace: text() });
/** The format of GitLab. An update without `oldrev` pushed nothing. */
const ofMerge = v.object({
  project,
  object_attributes: v.object({
    iid: number,
    action: v.nullish(text(), ""),
    url: link,
    updated_at: v.nullish(text()),
    oldrev: v.nullish(text()),
    source_branch: branch,
    source: v.nullish(project),
    last_commit: v.object({ id: commit }),
  }),
});

const timeOf = (given: string | null | undefined) => {
  const at = Date.parse(given ?? "");
  return Number.isNaN(at) ? null : isoOf(at);
};

/** The pull or merge request in a hook. Undefined for any other event, and for an action that changes no preview. */
export function requestOf(event: string | undefined, body: unknown): PullRequest | undefined {
  if (event === undefined || !events.includes(event)) return undefined;
  return event === "pull_request" ? pullOf(check(ofPull, body)) : mergeOf(check(ofMerge, body));
}

function pullOf({ action, repository, pull_request }: v.InferOutput<typeof ofPull>): PullRequest | undefined {
  const { number, html_url, updated_at, head } = pull_request;
  const effect = effects[action];
  if (!effect) return undefined;
  const { full_name: repo } = repository;
  const at = { repo, number, url: html_url ?? null, action: effect, changed_at: timeOf(updated_at) };
  return { ...at, ...sourceOf(repo, head.repo?.full_name), branch: head.ref, commit: head.sha };
}

function mergeOf({ project, object_attributes }: v.InferOutput<typeof ofMerge>): PullRequest | undefined {
  const { iid: number, action, url, updated_at, oldrev, source, source_branch, last_commit } = object_attributes;
  const effect = effects[action ?? ""];
  if (!effect || (action === "update" && !oldrev)) return undefined;
  const { path_with_namespace: repo } = project;
  const at = { repo, number, url: url ?? null, action: effect, changed_at: timeOf(updated_at) };
  return { ...at, ...sourceOf(repo, source?.path_with_namespace), branch: source_branch, commit: last_commit.id };
}

/** A pull request without the name of its source repository counts as coming from a fork. */
const sourceOf = (repo: string, source: string | undefined) => ({
  source: source ?? null,
  isFork: source === undefined || foldCase(source) !== foldCase(repo),
});
