import type { Detail, ProblemCode } from "../kernel/errors.ts";
import { isObject } from "../kernel/text/json.ts";

export type BrokenRule = Detail;

/** The codes of the service, then those of the client (see {ClientProblem}). A newer service may have further ones. */
export type ErrorCode = ProblemCode | "unreachable" | "timed_out" | "unreadable";

const brand = Symbol.for("svc-server.ClientProblem");

/**
 * The error of a call. `code` comes from the service (`validation_failed`, `not_found`, …) or from the client:
 * `unreachable`, `timed_out`, or `unreadable` (the response is incomplete or comes from another server).
 */
export class ClientProblem extends Error {
  override readonly name = "ClientProblem";
  readonly code: ErrorCode | (string & Record<never, never>);
  /** The HTTP status; 0 if there was no response. */
  readonly status: number;
  /** Every broken rule of a `validation_failed`; empty for other codes. */
  readonly details: readonly BrokenRule[];
  /** Quote it when you ask for support. */
  readonly requestId: string | undefined;
  /** The number of seconds that the service asks the client to wait. */
  readonly retryAfter: number | undefined;

  /** The CommonJS and the ES module each have a class. An error of one is an instance of the other too. */
  static override [Symbol.hasInstance] = function (this: unknown, value: unknown): boolean {
    const isOwn = this === ClientProblem && isObject(value) && brand in value;
    return isOwn || Function.prototype[Symbol.hasInstance].call(this as typeof ClientProblem, value);
  };

  get [brand](): true {
    return true;
  }

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

const isRule = (value: unknown): value is BrokenRule =>
  isObject(value) && typeof value["path"] === "string" && typeof value["message"] === "string";

type ResponseHead = Pick<Response, "status" | "url" | "headers">;
const aboutOf = ({ status, headers }: ResponseHead) => ({
  status,
  requestId: headers.get("x-request-id") ?? undefined,
  retryAfter: secondsOf(headers.get("retry-after")),
});

export const incomplete = (response: ResponseHead, cause: unknown) =>
  new ClientProblem(
    "unreadable",
    cause instanceof SyntaxError ? "the answer is incomplete: its JSON breaks off" : "the answer broke off",
    { ...aboutOf(response), cause },
  );

/** The error in a response, as far as it is readable. */
export function problemOf(response: ResponseHead, body: unknown): ClientProblem {
  const { status, headers } = response;
  const about = aboutOf(response);
  const error = isObject(body) ? body["error"] : undefined;
  if (isObject(error) && typeof error["code"] === "string" && typeof error["message"] === "string") {
    const details = Array.isArray(error["details"]) ? error["details"].filter(isRule) : [];
    return new ClientProblem(error["code"], error["message"], { ...about, details });
  }
  const location = status >= 300 && status <= 399 ? headers.get("location") : null;
  if (location !== null) {
    const sentence = `${response.url || "the server"} redirects to ${location}, and calls do not follow redirects`;
    return new ClientProblem("unreadable", `${sentence}; use the address that answers without a redirect`, about);
  }
  const type = headers.get("content-type")?.split(";", 1)[0] ?? "nothing";
  const sentence = `${response.url || "the server"} answered ${status} with ${type}, which is not the type of this interface`;
  return new ClientProblem(
    "unreadable",
    `${sentence}; check that the address ends in /v1 and belongs to svc-server`,
    about,
  );
}

/** `Retry-After` in seconds, the only form that the service sends. */
const secondsOf = (header: string | null) => (header !== null && /^\d{1,9}$/.test(header) ? Number(header) : undefined);

/** Converts a response in either envelope to the flat form. */
export function flatOf(body: unknown): unknown {
  if (!isObject(body) || !isObject(body["meta"])) return body;
  const { data, meta, pagination, ...rest } = body;
  if (isObject(pagination)) return { ...rest, data, meta: { ...meta, ...pagination } };
  return isObject(data) && Object.keys(rest).length === 0 ? { ...data, meta } : body;
}
