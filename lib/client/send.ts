import { parseJson } from "../kernel/text/json.ts";
import { parseUrl } from "../kernel/text/url.ts";
import { ClientProblem, flatOf, incomplete, problemOf } from "./problem.ts";

export interface ClientOptions {
  /** The URL of the API with its version: `http://127.0.0.1:7400/v1`. */
  readonly baseUrl: string;
  /** `sk_live_…`; omit it or pass null for calls that need no key. */
  readonly apiKey?: string | null | undefined;
  /** The world of an emulator that gets every call, by the header `X-Svc-World` (schema/testing.md#worlds). */
  readonly world?: string | undefined;
  /** Sends requests, such as `service.fetch` of a service in this process. Default: the platform's fetch. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /** The timeout of one attempt, in milliseconds. A call with `wait` gets that much more time. Default 30,000. */
  readonly timeout?: number | undefined;
  /** The number of retries after 429, 502, 503, 504, a lost connection or an incomplete response. Default 3. */
  readonly retries?: number | undefined;
  /** The longest `Retry-After` to wait for, in milliseconds; a longer one fails the call. Default 60,000. */
  readonly longestWait?: number | undefined;
  /** Called before each retry with its reason and the wait in milliseconds. */
  readonly onRetry?: ((reason: ClientProblem, wait_ms: number) => void) | undefined;
  /** Waits between attempts for this number of milliseconds. Default: setTimeout. */
  readonly sleep?: ((ms: number) => Promise<unknown>) | undefined;
  /** Creates idempotency keys. Default: 32 random hexadecimal digits. */
  readonly newKey?: (() => string) | undefined;
}

export interface CallOptions {
  /** Aborts the call and every wait in it. */
  readonly signal?: AbortSignal | undefined;
  /** Replaces the generated key: for 24 hours the same key and body return the first response again. */
  readonly idempotencyKey?: string | undefined;
}

/** A call of an operation, before it is sent. */
export interface Request {
  readonly id: string;
  readonly method: string;
  /** The path below the version, with the query. */
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly body?: unknown;
  /** Added to the timeout for calls that the service holds open. */
  readonly extra_ms?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Sender {
  /** Sends the request with retries and returns the successful response. Rejects with {ClientProblem}. */
  send(request: Request, options?: CallOptions): Promise<Response>;
  /** Like `send`, but returns the body in the flat form; undefined if there is none. */
  call(request: Request, options?: CallOptions): Promise<unknown>;
  /** Rejects with the signal's reason when it is aborted. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<unknown>;
  /** Whether the service's clock is manual; undefined if the sender cannot tell. */
  readonly isClockManual?: () => boolean;
}

type Signal = AbortSignal | undefined;
type Read = (response: Response) => Promise<unknown>;

/** The statuses after which a later attempt can succeed. */
const temporary = [429, 502, 503, 504];
const second_ms = 1000;

/** These defaults use the machine's time and random numbers: users of the client pass none of the service's ports. */
const sleepOf = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const randomKey = () =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

export function createSender(options: ClientOptions): Sender {
  const {
    apiKey,
    world,
    timeout = 30_000,
    retries = 3,
    longestWait = 60_000,
    sleep = sleepOf,
    newKey = randomKey,
  } = options;
  const fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
  const base = baseOf(options.baseUrl);
  // The platform's error would show the invalid header with the key in it.
  if (typeof apiKey === "string" && !/^[\x21-\x7e]+$/.test(apiKey))
    throw new TypeError("apiKey must be sk_live_…, on one line");

  /** One attempt. A connection error has a `cause`; an error that the server returned has none. */
  const attempt = async ({ path, method, extra_ms = 0 }: Request, init: RequestInit, signal: Signal, read: Read) => {
    const limit = AbortSignal.timeout(timeout + extra_ms);
    let response: Response | undefined;
    try {
      response = await fetch(base + path, { ...init, signal: signal ? AbortSignal.any([signal, limit]) : limit });
      return { response, body: await read(response) };
    } catch (cause) {
      signal?.throwIfAborted();
      if (limit.aborted) throw timedOut(`${method} ${base}${path}`, timeout + extra_ms, cause);
      if (response) throw incomplete(response, cause);
      throw new ClientProblem("unreachable", `${base} cannot be reached; ${hintOf(base, cause)}`, { cause });
    }
  };

  const sleepUnlessAborted: Sender["sleep"] = async (ms, signal) => {
    signal?.throwIfAborted();
    let leave = () => {};
    const left = new Promise<never>((_, reject) => {
      leave = () => reject(signal?.reason);
    });
    signal?.addEventListener("abort", leave);
    await Promise.race([sleep(ms), left]).finally(() => signal?.removeEventListener("abort", leave));
  };

  const sendWithRetries = async (request: Request, { signal, idempotencyKey }: CallOptions, read: Read) => {
    const { method, body } = request;
    const init: RequestInit = {
      method,
      // Following a redirect would turn a POST into a GET, and its response would look like the new record.
      redirect: "manual",
      headers: {
        accept: "application/json",
        ...(apiKey && { authorization: `Bearer ${apiKey}` }),
        ...(world !== undefined && { "x-svc-world": world }),
        ...(body !== undefined && { "content-type": "application/json" }),
        // One key for all attempts, so that a retry does not repeat work done before the connection broke.
        ...(method === "POST" && { "idempotency-key": idempotencyKey ?? newKey() }),
        ...request.headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    };
    for (let retry = 0; ; retry++) {
      signal?.throwIfAborted();
      const outcome = await attempt(request, init, signal, read).catch((problem: unknown) => ({ problem }));
      // A 404 to a retried DELETE means that the lost attempt deleted the record.
      const isDone = ({ ok, status }: Response) => ok || (retry > 0 && method === "DELETE" && status === 404);
      if ("response" in outcome && isDone(outcome.response)) return outcome;
      const problem = "response" in outcome ? problemOf(outcome.response, outcome.body) : outcome.problem;
      const isTemporary =
        problem instanceof ClientProblem && (temporary.includes(problem.status) || problem.cause !== undefined);
      const after = problem instanceof ClientProblem ? problem.retryAfter : undefined;
      const wait = after === undefined ? Math.min(250 * 2 ** retry, 8 * second_ms) : after * second_ms;
      if (!isTemporary || retry >= retries || wait > longestWait) throw problem;
      options.onRetry?.(problem, wait);
      await sleepUnlessAborted(wait, signal);
    }
  };

  return {
    send: async (request, given = {}) =>
      (await sendWithRetries(request, given, async (response) => (response.ok ? undefined : bodyOf(response))))
        .response,
    sleep: sleepUnlessAborted,
    async call(request, given = {}) {
      const { response, body } = await sendWithRetries(request, given, bodyOf);
      if (response.status === 204 || !response.ok) return undefined;
      if (!isJson(response)) throw problemOf(response, undefined);
      return flatOf(body);
    },
  };
}

/** A hint on how to fix the connection. Node reports why it failed; browsers do not. */
function hintOf(base: string, error: unknown): string {
  const reason = error instanceof Error && error.cause instanceof Error ? error.cause : new Error();
  const reasonCode = "code" in reason ? String(reason.code) : "";
  const { hostname, port } = new URL(base);
  if (reason.message === "bad port") return `fetch refuses the port ${port}, as browsers do: the server needs another`;
  if (reasonCode === "ENOTFOUND" || reasonCode === "EAI_AGAIN")
    return `the name ${hostname} was not found: check the address, and the network`;
  const code = base.startsWith("https:") ? reasonCode : "";
  if (/WRONG_VERSION_NUMBER|EPROTO|PACKET_LENGTH/.test(code))
    return `it does not speak TLS: try ${base.replace("https:", "http:")}`;
  if (/CERT|SIGNATURE|TLS|SSL/.test(code)) return `its certificate is refused: ${reason.message}`;
  return "is the server running there?";
}

const timedOut = (what: string, ms: number, cause: unknown) =>
  new ClientProblem("timed_out", `${what} was not answered within ${ms} ms`, { cause });

const isJson = ({ headers }: Response) => /^application\/([\w.-]+\+)?json\b/i.test(headers.get("content-type") ?? "");

/** The body of a response; undefined for 204 and a failure without JSON. Rejects if a success is incomplete. */
async function bodyOf(response: Response): Promise<unknown> {
  if (response.status === 204) return undefined;
  const text = await response.text();
  return response.ok && isJson(response) ? JSON.parse(text) : parseJson(text);
}

function baseOf(baseUrl: string): string {
  const right = "baseUrl must be an http or https URL that ends in /v1, such as http://127.0.0.1:7400/v1";
  const url = parseUrl(baseUrl);
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password) throw new TypeError(right);
  return url.origin + url.pathname.replace(/\/+$/, "");
}
