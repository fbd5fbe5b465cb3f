import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { expect, type World, world } from "./test-service.ts";

/** A commit id, or one derived from a word. */
export const commitOf = (word: string) =>
  /^[0-9a-f]{40}$/.test(word) ? word : createHash("sha1").update(word).digest("hex");

/** A change to a pull request in a test. `at` is in seconds of the code host's time. */
export interface Change {
  readonly number?: number;
  readonly commit?: string;
  readonly branch?: string;
  /** The repository of the branch; null if it was deleted. */
  readonly from?: string | null;
  readonly at?: number;
}

const timeOf = (at: number | undefined) =>
  at === undefined ? undefined : new Date(Date.UTC(2026, 0, 1) + at * 1000).toISOString().replace(".000Z", "Z");

/** A webhook body of GitHub, and of Gitea, which calls a push `synchronized`. */
export function pullRequest(action: string, change: Change = {}) {
  const { number = 7, commit = "one", branch = "topic", from = "acme/web", at } = change;
  return {
    action,
    number,
    repository: { full_name: "acme/web" },
    pull_request: {
      number,
      html_url: `https://code.example.com/acme/web/pulls/${number}`,
      state: action === "closed" ? "closed" : "open",
      updated_at: timeOf(at),
      head: { ref: branch, sha: commitOf(commit), repo: from === null ? null : { full_name: from } },
      base: { ref: "main", repo: { full_name: "acme/web" } },
    },
  };
}

/** A webhook body of GitLab. */
export function mergeRequest(action: string, change: Change & { readonly oldrev?: string } = {}) {
  const { number = 7, commit = "one", branch = "topic", from = "acme/web", at, oldrev } = change;
  return {
    object_kind: "merge_request",
    project: { path_with_namespace: "acme/web" },
    object_attributes: {
      iid: number,
      action,
      url: `https://code.example.com/acme/web/-/merge_requests/${number}`,
      updated_at: timeOf(at)?.replace("T", " ").replace("Z", " UTC"),
      source_branch: branch,
      target_branch: "main",
      source: { path_with_namespace: from },
      last_commit: { id: commitOf(commit) },
      ...(oldrev && { oldrev: commitOf(oldrev) }),
    },
  };
}

const eventOf = (body: object): Record<string, string> =>
  "object_kind" in body ? { "x-gitlab-event": "Merge Request Hook" } : { "x-github-event": "pull_request" };

/** Posts a webhook to an integration; returns the answer. */
export const hook = async (here: World, id: string, body: object, headers: Record<string, string> = {}) =>
  here.call("nobody", "POST", `/hooks/code-host/${id}`, body, { ...eventOf(body), ...headers });

/** Creates an integration with previews; returns its id. */
export const connectPreviews = async (here: World, more: object = {}): Promise<string> => {
  const config = { repo: "acme/web", branch: "main", environment: "staging", previews: true, ...more };
  return expect(await here.call("owner", "POST", "/v1/integrations", { type: "code_host", config }), 201).id;
};

/** A project with variables in `staging`, an integration with previews, and helpers for the tests. */
export async function previewing(t: Parameters<typeof world>[0], options: Parameters<typeof world>[1] = {}) {
  const here = await world(t, options);
  const { id: project_id } = await here.project();
  const path = `/v1/projects/${project_id}/environments`;
  const variables = { PLAIN: "1", TOKEN: { value: "hush", secret: true } };
  expect(await here.call("owner", "PUT", `${path}/staging`, { variables }), 200);
  const id = await connectPreviews(here);
  return {
    here,
    project_id,
    id,
    path,
    send: async (body: object, headers = {}) => expect(await hook(here, id, body, headers), 202).data,
    pull: async (action: string, change: Change = {}) =>
      expect(await hook(here, id, pullRequest(action, change)), 202).data,
    /** The environment; asserts that the store's invariants hold. */
    environment: async (name = "pr-7") => {
      assert.deepEqual(await here.service.invariants(), []);
      return expect(await here.call("viewer", "GET", path), 200).data.find(
        (one: { name: string }) => one.name === name,
      );
    },
    deployments: async (name = "pr-7") =>
      expect(await here.call("owner", "GET", `/v1/deployments?environment=${name}`), 200).data,
    advance: (by: string) => here.service.clock.advance(by),
  };
}
