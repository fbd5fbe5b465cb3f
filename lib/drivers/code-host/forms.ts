/** What a code host shows beside a commit. */
export interface CommitStatus {
  readonly repo: string;
  readonly commit: string;
  readonly state: "pending" | "success" | "failure";
  /** Its name: a later status of the same name takes its place. */
  readonly context: string;
  readonly description: string;
  readonly target_url: string;
}

/** How an interface of a code host is spoken. */
export interface Form {
  authorization(token: string): Readonly<Record<string, string>>;
  /** The path and body of the request that sets a status. */
  status(given: CommitStatus): { readonly path: string; readonly body: object };
  /** The path of a pull or merge request, and its state while it is open. */
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

/** The form of an interface, by the version at the end of its address. */
export function formOf(api: string): Form {
  if (api.endsWith("/api/v4")) return gitlab;
  return api.endsWith("/api/v1") ? gitea : github;
}
