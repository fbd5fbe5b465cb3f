/** One broken rule of a body or query. `path` is dotted: `source.repo`, `events.0`. */
export interface BrokenRule {
  readonly path: string;
  readonly message: string;
}

/**
 * Why a call did not succeed. `code` is the service's own (`validation_failed`, `not_found`, …), or one of the client's:
 * `unreachable`, `timed_out`, `unreadable` (an answer that is not this interface's, or that broke off).
 */
export class ClientProblem extends Error {
  override readonly name = "ClientProblem";
  readonly code: string;
  /** Of the answer; 0 where none came. */
  readonly status: number;
  /** Every broken rule, for `validation_failed`; else empty. */
  readonly details: readonly BrokenRule[];
  /** To be quoted when asking for support. */
  readonly requestId: string | undefined;
  /** How many seconds the service asks to wait. */
  readonly retryAfter: number | undefined;

  constructor(
    code: string,
    message: string,
    more: {
      status?: number;
      details?: readonly BrokenRule[];
      requestId?: string | undefined;
      retryAfter?: number | undefined;
      cause?: unknown;
    } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.code = code;
    this.status = more.status ?? 0;
    this.details = more.details ?? [];
    this.requestId = more.requestId;
    this.retryAfter = more.retryAfter;
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isRule = (value: unknown): value is BrokenRule =>
  isObject(value) && typeof value["path"] === "string" && typeof value["message"] === "string";

type Head = Pick<Response, "status" | "url" | "headers">;
const aboutOf = ({ status, headers }: Head) => ({
  status,
  requestId: headers.get("x-request-id") ?? undefined,
  retryAfter: secondsOf(headers.get("retry-after")),
});

/** An answer of which the rest did not come. */
export const brokenOff = (response: Head, cause: unknown) =>
  new ClientProblem(
    "unreadable",
    cause instanceof SyntaxError ? "the answer is not whole: its JSON breaks off" : "the answer broke off",
    { ...aboutOf(response), cause },
  );

/** What a refusal says, as far as it can be read. */
export function problemOf(response: Head, body: unknown): ClientProblem {
  const { status, headers } = response;
  const about = aboutOf(response);
  const error = isObject(body) ? body["error"] : undefined;
  if (isObject(error) && typeof error["code"] === "string" && typeof error["message"] === "string") {
    const details = Array.isArray(error["details"]) ? error["details"].filter(isRule) : [];
    return new ClientProblem(error["code"], error["message"], { ...about, details });
  }
  const elsewhere = status >= 300 && status <= 399 ? headers.get("location") : null;
  if (elsewhere !== null) {
    const sentence = `${response.url || "the server"} leads to ${elsewhere}, and a call is not sent on`;
    return new ClientProblem("unreadable", `${sentence}; give the address that it is answered at`, about);
  }
  const type = headers.get("content-type")?.split(";", 1)[0] ?? "nothing";
  const sentence = `${response.url || "the server"} answered ${status} with ${type}, which is not this interface's`;
  return new ClientProblem(
    "unreadable",
    `${sentence}; see that the address ends in /v1 and leads to svc-server`,
    about,
  );
}

/** `Retry-After` in its form of seconds, which is the only one that this interface sends. */
const secondsOf = (header: string | null) => (header !== null && /^\d{1,9}$/.test(header) ? Number(header) : undefined);

/** The flat form of an answer, whichever envelope the service uses. */
export function flatOf(body: unknown): unknown {
  if (!isObject(body) || !isObject(body["meta"])) return body;
  const { data, meta, pagination, ...rest } = body;
  if (isObject(pagination)) return { ...rest, data, meta: { ...meta, ...pagination } };
  return isObject(data) && Object.keys(rest).length === 0 ? { ...data, meta } : body;
}
