import { once } from "node:events";
import { systemTimer } from "../../kernel/clock.ts";
import { Problem } from "../../kernel/errors.ts";
import { signalProcess } from "../../kernel/node/process-table.ts";
import { AbortController } from "../../kernel/node/web.ts";
import type { GitCommand } from "../runtime/git-command.ts";
import { startGit } from "../runtime/limited-git.ts";
import { onAbort } from "../runtime/pause.ts";
import { fetchBody } from "./fetch-body.ts";

/** A git client's request, in the form that CGI needs. */
export interface BackendRequest {
  readonly repository: string;
  readonly method: string;
  readonly service: "info/refs" | "git-upload-pack" | "git-receive-pack";
  readonly query: string;
  readonly header: (name: string) => string | undefined;
  readonly body: AsyncIterable<Uint8Array>;
  readonly seen?: (chunk: Buffer) => void;
}

export interface BackendAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncGenerator<Buffer, void>;
  readonly closed: Promise<void>;
  /** Ends git if the client stops reading the response. */
  end(): void;
}

/** A client that sends no data for this long counts as gone. */
const silence = "60s";

function variablesOf({ repository, service, method, query, header }: BackendRequest): Record<string, string> {
  const cut = repository.lastIndexOf("/");
  // The body of a fetch is decompressed, so its length changes.
  const length = service === "git-upload-pack" ? undefined : header("content-length");
  return {
    GIT_PROJECT_ROOT: repository.slice(0, cut),
    PATH_INFO: `${repository.slice(cut)}/${service}`,
    GIT_HTTP_EXPORT_ALL: "1",
    REQUEST_METHOD: method,
    QUERY_STRING: query,
    CONTENT_TYPE: header("content-type") ?? "",
    ...(length !== undefined && { CONTENT_LENGTH: length }),
    GIT_PROTOCOL: header("git-protocol") ?? "",
    REMOTE_USER: "svc",
    REMOTE_ADDR: "127.0.0.1",
  };
}

/** Runs `git http-backend`. Request and response are streamed, so a push of any size needs little memory. */
export async function httpBackend(
  request: BackendRequest,
  { env, group }: Pick<GitCommand, "env" | "group">,
  ending: AbortSignal,
): Promise<BackendAnswer> {
  const child = startGit(["http-backend"], { ...env, ...variablesOf(request) }, group);
  child.stderr.resume();
  const kill = () => {
    if (child.pid !== undefined && child.exitCode === null) signalProcess(-child.pid, "SIGKILL");
  };
  const closed = new Promise<void>((resolve) => {
    child.once("error", () => resolve());
    child.once("close", () => resolve());
  }).finally(onAbort(ending, kill));
  if (request.service === "git-upload-pack") {
    // Git answers a fetch after it has read all of the body. A push can be answered before its end.
    const body = fetchBody(request.body, request.header("content-encoding"));
    await sendBody({ body }, child.stdin, kill);
  } else void sendBody(request, child.stdin, kill);

  const chunks = child.stdout[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let head = Buffer.alloc(0);
  let end = -1;
  while (end < 0) {
    const { value, done } = await chunks.next();
    if (done) throw new Error("git http-backend ended without an answer");
    head = Buffer.concat([head, value]);
    end = head.indexOf("\r\n\r\n");
  }
  const { status = "200", ...headers } = headersIn(head.toString("latin1", 0, end));
  async function* body() {
    try {
      yield head.subarray(end + 4);
      for (let next = await chunks.next(); !next.done; next = await chunks.next()) yield next.value;
      await closed;
    } finally {
      // A process counts as ended once its output was read or dropped. If the client has left, this drops the rest.
      await chunks.return?.();
    }
  }
  return { status: Number.parseInt(status, 10), headers, body: body(), closed, end: kill };
}

const headersIn = (head: string): Record<string, string> =>
  Object.fromEntries(
    head.split("\r\n").map((line) => {
      const [name = "", ...value] = line.split(":");
      return [name.toLowerCase(), value.join(":").trim()];
    }),
  );

/** Resolves when git accepts more input or has closed it. */
async function taken(stdin: NodeJS.WritableStream): Promise<void> {
  const over = new AbortController();
  const one = (event: string) => once(stdin, event, { signal: over.signal });
  await Promise.race([one("drain"), one("close")]).catch(() => {});
  // Removes the listeners of the other event.
  over.abort();
}

/** Streams the body to git. Drops the part that git does not read, because some clients read the response only then. */
async function sendBody(
  { body, seen }: Pick<BackendRequest, "body" | "seen">,
  stdin: NodeJS.WritableStream & { readonly destroyed?: boolean; readonly writable: boolean },
  kill: () => void,
): Promise<void> {
  let cancel = systemTimer(silence, kill);
  try {
    for await (const bytes of body) {
      cancel();
      const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      seen?.(chunk);
      if (stdin.writable && !stdin.write(chunk)) await taken(stdin);
      cancel = systemTimer(silence, kill);
    }
  } catch (error) {
    if (error instanceof Problem) {
      kill();
      throw error;
    }
    // The client is gone. Git detects the incomplete pack and changes nothing.
  } finally {
    cancel();
    stdin.end();
  }
}
