import { brokenOff, ClientProblem, flatOf, problemOf } from "./problem.ts";

export interface ClientOptions {
  /** Where the interface is, with its version: `http://127.0.0.1:7400/v1`. */
  readonly baseUrl: string;
  /** `sk_live_…`; may be left out, or null, for the calls that need none. */
  readonly apiKey?: string | null | undefined;
  /** What sends: `service.fetch` of a service in this process; the platform's own fetch, where it is not set. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /** How long one try may take, in milliseconds. Default 30,000. */
  readonly timeout?: number | undefined;
  /** How often a call is tried again after 429, 502, 503, 504, a lost connection or an answer that breaks off. Default 3. */
  readonly retries?: number | undefined;
  /** The longest wait that is accepted from `Retry-After`, in milliseconds; beyond it the call fails. Default 60,000. */
  readonly longestWait?: number | undefined;
  /** What waits between tries, for that many milliseconds. */
  readonly sleep?: ((ms: number) => Promise<unknown>) | undefined;
  /** What makes idempotency keys. */
  readonly newKey?: (() => string) | undefined;
}

export interface CallOptions {
  /** Ends the call, and every wait in it. */
  readonly signal?: AbortSignal | undefined;
  /** Instead of one made for this call: for 24 hours the same key and body give the first answer again. */
  readonly idempotencyKey?: string | undefined;
}

/** One request, before it is sent: an operation, and where it is found. */
export interface Request {
  readonly id: string;
  readonly method: string;
  /** With the query, below the version. */
  readonly path: string;
  /** What stands in the places of the path. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly body?: unknown;
  /** Beyond the usual time-out, for calls that wait in the service. */
  readonly more_ms?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Sender {
  /** Sends, tries again where that may help, and answers what succeeded. Throws {ClientProblem}. */
  send(request: Request, options?: CallOptions): Promise<Response>;
  /** The same, with the answer read: in the flat form, undefined where there is none. */
  call(request: Request, options?: CallOptions): Promise<unknown>;
  /** Rejects with the signal's reason once that is aborted. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<unknown>;
}

type Signal = AbortSignal | undefined;
/** Reads as much of an answer as is wanted of it. */
type Read = (response: Response) => Promise<unknown>;

const passing = [429, 502, 503, 504];
const aSecond = 1000;

/** The client's defaults are the machine's own: programs have no ports of ours. */
const sleepOf = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const randomKey = () =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

export function createSender(options: ClientOptions): Sender {
  const { apiKey, timeout = 30_000, retries = 3, longestWait = 60_000, sleep = sleepOf, newKey = randomKey } = options;
  const fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
  const base = baseOf(options.baseUrl);
  // A header that is refused is shown in the platform's error, and a key must not be.
  if (typeof apiKey === "string" && !/^[\x21-\x7e]+$/.test(apiKey))
    throw new TypeError("apiKey must be sk_live_…, on one line");

  /** One try. What a connection did is thrown with its cause, and what a server answered without one. */
  const once = async ({ path, method, more_ms = 0 }: Request, init: RequestInit, signal: Signal, read: Read) => {
    const limit = AbortSignal.timeout(timeout + more_ms);
    let response: Response | undefined;
    try {
      response = await fetch(base + path, { ...init, signal: signal ? AbortSignal.any([signal, limit]) : limit });
      return { response, body: await read(response) };
    } catch (cause) {
      signal?.throwIfAborted();
      if (limit.aborted) throw timedOut(`${method} ${base}${path}`, timeout + more_ms, cause);
      if (response) throw brokenOff(response, cause);
      throw new ClientProblem("unreachable", `${base} cannot be reached; ${hintOf(base, cause)}`, { cause });
    }
  };

  const rest: Sender["sleep"] = async (ms, signal) => {
    signal?.throwIfAborted();
    let leave = () => {};
    const left = new Promise<never>((_, reject) => {
      leave = () => reject(signal?.reason);
    });
    signal?.addEventListener("abort", leave);
    await Promise.race([sleep(ms), left]).finally(() => signal?.removeEventListener("abort", leave));
  };

  const tried = async (request: Request, { signal, idempotencyKey }: CallOptions, read: Read) => {
    const { method, body } = request;
    const init: RequestInit = {
      method,
      // Followed, a POST would become a GET, and its answer be taken for what was made.
      redirect: "manual",
      headers: {
        accept: "application/json",
        ...(apiKey && { authorization: `Bearer ${apiKey}` }),
        ...(body !== undefined && { "content-type": "application/json" }),
        // One key over all tries: whatever was done before a connection broke is not done twice.
        ...(method === "POST" && { "idempotency-key": idempotencyKey ?? newKey() }),
        ...request.headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    };
    for (let tries = 0; ; tries++) {
      signal?.throwIfAborted();
      const outcome = await once(request, init, signal, read).catch((problem: unknown) => ({ problem }));
      // What a lost try had deleted is deleted.
      const isDone = ({ ok, status }: Response) => ok || (tries > 0 && method === "DELETE" && status === 404);
      if ("response" in outcome && isDone(outcome.response)) return outcome;
      const problem = "response" in outcome ? problemOf(outcome.response, outcome.body) : outcome.problem;
      const isPassing =
        problem instanceof ClientProblem && (passing.includes(problem.status) || problem.cause !== undefined);
      const after = problem instanceof ClientProblem ? problem.retryAfter : undefined;
      const wait = after === undefined ? Math.min(250 * 2 ** tries, 8 * aSecond) : after * aSecond;
      if (!isPassing || tries >= retries || wait > longestWait) throw problem;
      await rest(wait, signal);
    }
  };

  return {
    send: async (request, given = {}) =>
      (await tried(request, given, async (response) => (response.ok ? undefined : bodyOf(response)))).response,
    sleep: rest,
    async call(request, given = {}) {
      const { response, body } = await tried(request, given, bodyOf);
      if (response.status === 204 || !response.ok) return undefined;
      if (!isJson(response)) throw problemOf(response, undefined);
      return flatOf(body);
    },
  };
}

/** What may be mended. Node tells why TLS failed; browsers do not. */
function hintOf(base: string, error: unknown): string {
  const reason = error instanceof Error && error.cause instanceof Error ? error.cause : new Error();
  const code = base.startsWith("https:") && "code" in reason ? String(reason.code) : "";
  if (/WRONG_VERSION_NUMBER|EPROTO|PACKET_LENGTH/.test(code))
    return `it speaks no TLS: try ${base.replace("https:", "http:")}`;
  if (/CERT|SIGNATURE|TLS|SSL/.test(code)) return `its certificate is refused: ${reason.message}`;
  return "is the server running there?";
}

const timedOut = (what: string, ms: number, cause: unknown) =>
  new ClientProblem("timed_out", `${what} was not answered within ${ms} ms`, { cause });

const isJson = ({ headers }: Response) => /^application\/([\w.-]+\+)?json\b/i.test(headers.get("content-type") ?? "");

/** What is in an answer; undefined where that is no JSON, as many refusals of others are. Throws where it breaks off. */
async function bodyOf(response: Response): Promise<unknown> {
  if (response.status === 204) return undefined;
  const text = await response.text();
  return response.ok && isJson(response) ? JSON.parse(text) : parsed(text);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function baseOf(baseUrl: string): string {
  const right = "baseUrl must be an http or https URL that ends in /v1, such as http://127.0.0.1:7400/v1";
  if (!URL.canParse(baseUrl)) throw new TypeError(right);
  const { protocol, username, password, origin, pathname } = new URL(baseUrl);
  if (!/^https?:$/.test(protocol) || username || password) throw new TypeError(right);
  return origin + pathname.replace(/\/+$/, "");
}
