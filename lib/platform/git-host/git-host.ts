import { repoRule } from "../../features/deployments/source.ts";
import type { Answer } from "../../http/answer.ts";
import type { Audit, Entries } from "../../http/audit-entries.ts";
import type { Authentication, Authenticator } from "../../http/authenticate.ts";
import { cancellationOf } from "../../http/limits/cancellation.ts";
import type { RequestContext } from "../../http/request-context.ts";
import { allowLongBody } from "../../http/server.ts";
import { whileRead } from "../../http/streams/in-pieces.ts";
import { Problem } from "../../kernel/errors.ts";
import { createReadableStream } from "../../kernel/node/web.ts";
import { authorize, type Caller, type Operation } from "../../kernel/operation.ts";
import type { Store } from "../../store/store.ts";
import type { BackendRequest } from "../repositories/http-backend.ts";
import { createPushReader } from "../repositories/push-request.ts";
import type { Repositories } from "../repositories/repositories.ts";
import { createDeploymentsOfPush } from "./deployments-of-push.ts";
import { pushAnswer } from "./push-answer.ts";

type PushPorts = Parameters<typeof createDeploymentsOfPush>[0];

interface Ports extends Omit<PushPorts, "creator" | "record"> {
  readonly store: Store;
  /** Records the project that a push creates in the audit log. */
  readonly audited: Audit;
  /** Records the changes of a push in the audit log. */
  readonly entries: (request: RequestContext, by: Caller) => Entries;
  readonly authenticator: Pick<Authenticator, "confirmed" | "watch">;
  readonly operations: readonly Operation[];
  readonly repositories: Repositories;
  readonly closing: AbortSignal;
}

/** The paths that git calls before a push if the repository uses Git LFS. */
const ofLfs = /^\/git\/[^/]+\/[^/]+\.git\/info\/lfs\//;
const withoutLfs =
  "Git LFS is not served here. Put the files themselves into the commits: git lfs migrate export --everything --include='*'. Or push with --no-verify: then the repository and the app have only the pointers of LFS, small text files, in their place";

/** A refusal in the form that Git LFS shows to its user. */
const lfsRefusal = (request_id: string): Answer => ({
  status: 404,
  headers: { "content-type": "application/vnd.git-lfs+json", "cache-control": "no-store" },
  body: JSON.stringify({ message: withoutLfs, request_id }),
  request_id,
});

const form = /^\/git\/([^/]+\/[^/]+)\.git\/(info\/refs|git-upload-pack|git-receive-pack)$/;

interface Wanted {
  readonly repo: string;
  readonly service: BackendRequest["service"];
  /** The query for git. The client may name several services. */
  readonly query: string;
  readonly isPush: boolean;
}

/** The repository and the git service of a request. Throws for any other path: no name leads out of its folder. */
function wantedIn({ path, method, query, header }: RequestContext, repositories: Repositories): Wanted {
  const [, repo = "", service] = form.exec(path) ?? [];
  const rule = repoRule(repo) ?? repositories.refuses(repo);
  if (service === undefined || rule !== undefined)
    throw new Problem("not_found", "repositories are at /git/OWNER/REPO.git, by smart HTTP, with names as in a source");
  const asked = service === "info/refs" ? query().get("service") : service;
  if (asked !== "git-upload-pack" && asked !== "git-receive-pack")
    throw new Problem("not_found", "this service speaks smart HTTP only; use git 1.6.6 or later");
  if (method !== (service === "info/refs" ? "GET" : "POST"))
    throw new Problem("method_not_allowed", `this path takes ${service === "info/refs" ? "GET" : "POST"}`);
  const isPush = asked === "git-receive-pack";
  if (isPush && (header("content-encoding") ?? "identity") !== "identity")
    throw new Problem("unsupported_media_type", "send a push without a Content-Encoding");
  return {
    repo,
    service: service as Wanted["service"],
    query: service === "info/refs" ? `service=${asked}` : "",
    isPush,
  };
}

async function* bodyOf({ incoming, body }: RequestContext): AsyncGenerator<Uint8Array> {
  if (incoming) yield* incoming;
  else yield new Uint8Array(await body());
}

/** The body of a push. If its key stops being valid, the connection is cut, and git stores nothing. */
async function* whileValid(request: RequestContext, watch: (lost: () => void) => () => void) {
  const unwatch = watch(() => void request.incoming?.socket.destroy());
  try {
    yield* bodyOf(request);
  } finally {
    unwatch();
  }
}

const streamOf = (chunks: AsyncGenerator<Buffer, void>, end: () => void) => {
  let hasBegun = false;
  return createReadableStream<Uint8Array>(
    {
      async pull(controller) {
        hasBegun = true;
        const { value, done } = await chunks.next();
        if (done) controller.close();
        else if (value.length > 0) controller.enqueue(value);
        else await this.pull?.(controller);
      },
      async cancel() {
        end();
        // `return` skips the `finally` of a generator that has not begun.
        if (!hasBegun) await chunks.next().catch(() => {});
        await chunks.return();
      },
    },
    { highWaterMark: 0 },
  );
};

function rightsOf(operations: readonly Operation[]) {
  const needs = (id: string) => (caller: Caller) => {
    const operation = operations.find((one) => one.id === id);
    if (!operation) throw new Error(`there is no operation ${id}`);
    authorize(operation, caller);
    return operation;
  };
  return { push: needs("deployments.create"), fetch: needs("deployments.get"), make: needs("projects.create") };
}

/** The number of entries per transaction. A push may change thousands of branches. */
const entryBatch = 200;

/** Records the changes of branches. Git has made them, so the rights of the pusher no longer matter. */
const branchRecorder =
  (store: Store, organization_id: string, add: Entries): PushPorts["record"] =>
  async (repo, changes) => {
    for (let at = 0; at < changes.length; at += entryBatch)
      await store.transaction({ organization_id }, async (tx) => {
        for (const { branch, change } of changes.slice(at, at + entryBatch))
          await add(tx, organization_id, `branches.${change}`, `${repo}:${branch}`);
      });
  };

function createGitServing(ports: Ports, rights: ReturnType<typeof rightsOf>) {
  const { authenticator, audited, closing, repositories: hosts } = ports;

  return async (
    request: RequestContext,
    { repo, service, query, isPush }: Wanted,
    authentication: Authentication,
  ): Promise<Answer> => {
    const { id: request_id, method, header, incoming, outgoing } = request;
    const name = { organization_id: authentication.caller.organization_id, repo };
    const isUpload = service === "git-receive-pack";
    if (isUpload && incoming) allowLongBody(incoming);
    const reader = createPushReader();
    const watch = (lost: () => void) => authenticator.watch(authentication, lost);
    const backendRequest = { service, method, query, header, body: bodyOf(request) };
    const push = { ...backendRequest, body: whileValid(request, watch), seen: reader.take };
    const answer = await hosts.serve(name, isUpload ? push : backendRequest, isPush);
    if (!answer) throw new Problem("not_found", `there is no repository ${repo} here; the first push makes it`);
    const { status, headers, body, end, closed } = answer;
    if (!isUpload) {
      void closed.then(watch(end));
      return { status, headers, body: whileRead(streamOf(body, end), outgoing), request_id };
    }
    const cancellation = cancellationOf(request, closing, watch);
    // The answer stays open as long as the deployments run.
    cancellation.count(name.organization_id);
    const confirmed = authenticator.confirmed(authentication);
    const { caller } = audited(rights.push(confirmed), request, confirmed);
    const creator = (by: Caller) => audited(rights.make(by), request, by).caller;
    const record = branchRecorder(ports.store, name.organization_id, ports.entries(request, caller));
    const deploy = createDeploymentsOfPush({ ...ports, creator, record });
    async function* lines(stored: () => ReadonlySet<string>) {
      try {
        const [{ updates, ...pushed }, refs] = [reader.request, stored()];
        const after = { ...pushed, updates: updates.map((one) => ({ ...one, isStored: refs.has(one.ref) })) };
        yield* deploy(hosts, name, after, caller, cancellation.signal);
      } finally {
        cancellation.end();
      }
    }
    const whole = pushAnswer(body, () => reader.request.showsText, lines);
    return { status, headers, body: whileRead(streamOf(whole, end), outgoing), request_id };
  };
}

/** Serves the service's own git repositories. */
export function createGitHost(ports: Ports) {
  const rights = rightsOf(ports.operations);
  const serve = createGitServing(ports, rights);
  return async (request: RequestContext, authentication: Authentication): Promise<Answer> => {
    if (ofLfs.test(request.path)) return lfsRefusal(request.id);
    const wanted = wantedIn(request, ports.repositories);
    (wanted.isPush ? rights.push : rights.fetch)(authentication.caller);
    return serve(request, wanted, authentication);
  };
}
