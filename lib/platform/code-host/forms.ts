import type { CommitStatus } from "../../features/deployments/commit-statuses.ts";

/** The requests and answers of one code host's API. */
export interface Form {
  authorization(token: string): Readonly<Record<string, string>>;
  status(given: CommitStatus): { readonly path: string; readonly body: object };
  /** The path of a pull or merge request. `open` is its state while it is open. */
  request(repo: string, number: number): string;
  readonly open: string;
}

const github: Form = {
  authorization: (token) => ({ authorization: `Bearer ${token}` }),
  status: ({ repo, commit, ...body }) => ({ path: `/repos/${repo}/statuses/${commit}`, body }),
  request: (repo, number) => `/repos/${repo}/pulls/${number}`,
  open: "open",
};

const gitea: Form = { ...github, authorization: (token) => ({ authorization: `token ${token}` }) };

const gitlab: Form = {
  authorization: (token) => ({ "private-token": token }),
  status: ({ repo, commit, state, context: name, ...more }) => ({
    path: `/projects/${encodeURIComponent(repo)}/statuses/${commit}`,
    body: { state: state === "failure" ? "failed" : state, name, ...more },
  }),
  request: (repo, number) => `/projects/${encodeURIComponent(repo)}/merge_requests/${number}`,
  open: "opened",
};

/** The form of an API, by the version at the end of its URL. */
export function formOf(api: string): Form {
  if (api.endsWith("/api/v4")) return gitlab;
  return api.endsWith("/api/v1") ? gitea : github;
}
