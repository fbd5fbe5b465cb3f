import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

type FormName = "github" | "gitea" | "gitlab";

/** A status as the code host stores it. */
export interface StoredStatus {
  readonly repo: string;
  readonly commit: string;
  readonly context: string;
  readonly state: string;
  readonly target_url: string;
}

/** For each code host: the base path of its API, and the header for signing in. */
const forms = {
  github: { base: "", token: (token: string) => ["authorization", `Bearer ${token}`] },
  gitea: { base: "/api/v1", token: (token: string) => ["authorization", `token ${token}`] },
  gitlab: { base: "/api/v4", token: (token: string) => ["private-token", token] },
} as const;

const states: Readonly<Record<FormName, readonly string[]>> = {
  github: ["error", "failure", "pending", "success"],
  gitea: ["pending", "success", "error", "failure", "warning"],
  gitlab: ["pending", "running", "success", "failed", "canceled", "skipped"],
};

interface Stored {
  readonly statuses: StoredStatus[];
  /** The states of pull requests by number. `hidden` marks a request that the token cannot see. */
  readonly requests: ReadonlyMap<number, string>;
}

/** The correct answer to an authenticated request. */
function answerOf(
  form: FormName,
  { statuses, requests }: Stored,
  method: string,
  path: string,
  body: Record<string, string>,
): [number, object] {
  const isGitlab = form === "gitlab";
  const [, number] = (isGitlab ? /\/merge_requests\/(\d+)$/ : /^\/repos\/.+\/pulls\/(\d+)$/).exec(path) ?? [];
  if (method === "GET" && number !== undefined) {
    const state = requests.get(Number(number));
    if (state === "hidden") return [403, { message: "Forbidden" }];
    return state ? [200, { state }] : [404, { message: "Not Found" }];
  }
  const asked = isGitlab ? /^\/projects\/([^/]+)\/statuses\/(\w+)$/ : /^\/repos\/(.+)\/statuses\/(\w+)$/;
  const [, repo = "", commit = ""] = asked.exec(path) ?? [];
  if (method !== "POST" || commit === "") return [404, { message: "Not Found" }];
  const { state = "", target_url = "", [isGitlab ? "name" : "context"]: context = "" } = body;
  if (!states[form].includes(state)) return [422, { message: "wrong state" }];
  statuses.push({ repo: decodeURIComponent(repo), commit, context, state, target_url });
  return [201, {}];
}

const bodyOf = async (request: IncomingMessage) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return chunks.length === 0 ? {} : JSON.parse(Buffer.concat(chunks).toString());
};

/** A server with the API of GitHub, Gitea or GitLab: commit statuses, and states of pull requests. */
export async function codeHost(t: TestContext, form: FormName, token = "tok_demo") {
  const { base, token: signIn } = forms[form];
  const statuses: StoredStatus[] = [];
  const requests = new Map<number, string>();
  let tries = 0;
  /** Replaces the answers while it is set: a status, or `cut` for a broken connection. */
  let failing: number | "cut" | undefined;
  /** A held request: `arrived` reports it, and its answer waits for `released`. */
  let held: { arrived: () => void; released: Promise<unknown> } | undefined;

  const server = createServer(async (request, response) => {
    const { method = "", url = "", headers } = request;
    const body = await bodyOf(request);
    tries += 1;
    const waiting = held;
    held = undefined;
    waiting?.arrived();
    await waiting?.released;
    if (failing === "cut") return void request.socket.destroy();
    const [name, value] = signIn(token);
    const [status, sent] = failing
      ? [failing, {}]
      : headers[name ?? ""] !== value
        ? [401, { message: "Bad credentials" }]
        : answerOf(form, { statuses, requests }, method, url.slice(base.length), body);
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(sent));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  t.after(close);
  return {
    /** The options that point to this server. */
    options: { url: `${origin}/{repo}.git`, api: `${origin}${base}`, token },
    origin,
    statuses,
    requests,
    tries: () => tries,
    fail: (how: number | "cut" | undefined) => {
      failing = how;
    },
    /** Holds the next request. `arrived` resolves when it arrives; it is answered after `release`. */
    hold() {
      let release = () => {};
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      const arrived = new Promise<void>((resolve) => {
        held = { arrived: resolve, released };
      });
      return { arrived, release };
    },
  };
}
