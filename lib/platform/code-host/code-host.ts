import * as v from "valibot";
import type { Outbound } from "../../drivers/outbound/outbound.ts";
import type { CommitStatus, Taken } from "../../features/deployments/commit-statuses.ts";
import { version } from "../../kernel/version.ts";
import { addressOf, type CodeHostOptions } from "./address.ts";

/** The requests and answers of one code host's API. `open` is the state of an open pull or merge request. */
const github = {
  authorization: (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` }),
  status: ({ repo, commit, ...body }: CommitStatus): { path: string; body: object } => ({
    path: `/repos/${repo}/statuses/${commit}`,
    body,
  }),
  request: (repo: string, number: number) => `/repos/${repo}/pulls/${number}`,
  open: "open",
};

type Form = typeof github;

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
function formOf(api: string): Form {
  if (api.endsWith("/api/v4")) return gitlab;
  return api.endsWith("/api/v1") ? gitea : github;
}

export type CodeHost = NonNullable<ReturnType<typeof createCodeHost>>;

const limits = { max_bytes: 1_048_576, timeout_ms: 10_000 };
/** HTTP statuses of a code host that is busy or down, or whose token must be renewed. A retry may succeed. */
const mayPass = [401, 403, 408, 425, 429];
/** HTTP statuses for a pull request that the token cannot see: its repository was deleted, moved or made private. */
const unseen = [301, 302, 307, 308, 403, 404, 410, 451];
const request = v.pipe(v.string(), v.parseJson(), v.object({ state: v.string() }));

/** The API client of the code host; undefined if it has no API. Results never contain the token. */
export function createCodeHost(options: CodeHostOptions, outbound: Pick<Outbound, "callBackend">) {
  const api = addressOf(options);
  if (api === undefined) return undefined;
  const form = formOf(api);
  const headers = {
    ...{ accept: "application/json", "content-type": "application/json", "user-agent": `svc-server/${version()}` },
    ...(options.token !== undefined && form.authorization(options.token)),
  };
  const trustedOrigins = [new URL(api).origin];
  const ask = (method: "GET" | "POST", path: string, body?: object) => {
    const more = body && { body: JSON.stringify(body) };
    return outbound.callBackend({ method, url: `${api}${path}`, headers, trustedOrigins, ...limits, ...more });
  };

  return {
    async setStatus(status: CommitStatus): Promise<Taken> {
      const { path, body } = form.status(status);
      const answer = await ask("POST", path, body);
      if (answer.status === null) return { kind: "failed", reason: `it did not answer: ${answer.error}` };
      if (answer.status >= 200 && answer.status < 300) return { kind: "taken" };
      // GitLab refuses to set the status that a commit already has.
      if (answer.status === 400 && answer.bytes.includes("Cannot transition status")) return { kind: "taken" };
      const kind = answer.status >= 500 || mayPass.includes(answer.status) ? "failed" : "refused";
      return { kind, reason: `it answered ${answer.status}` };
    },

    /**
     * Whether a pull request is open; undefined if the token cannot see it. Throws if the code host does not answer.
     */
    async isOpen(repo: string, number: number): Promise<boolean | undefined> {
      const answer = await ask("GET", form.request(repo, number));
      if (answer.status !== null && unseen.includes(answer.status)) return undefined;
      const parsed = v.safeParse(request, answer.bytes.toString());
      if (answer.status === 200 && parsed.success) return parsed.output.state === form.open;
      throw new Error(
        answer.status === null ? `it did not answer: ${answer.error}` : `it answered ${answer.status} without a state`,
      );
    },
  };
}
