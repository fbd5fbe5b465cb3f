/** Every expected failure of the interface. The table in `schema/README.md` is generated from this one. */
export const problems = {
  invalid_json: { status: 400, when: "the body is missing, not JSON, not an object, or nested deeper than 32 levels" },
  unauthorized: {
    status: 401,
    when: "the API key is missing, malformed, unknown, revoked, expired, or its user is suspended or removed",
  },
  insufficient_role: { status: 403, when: "the role of the key's user does not allow it" },
  insufficient_scope: { status: 403, when: "the key lacks the scope" },
  plan_required: { status: 403, when: "the organization's plan does not include it" },
  link_expired: { status: 403, when: "an asset link is invalid or has expired" },
  not_found: { status: 404, when: "unknown path or identifier, or one of another organization" },
  method_not_allowed: {
    status: 405,
    when: "the path does not take this method; `Allow` names the methods that it takes",
  },
  name_taken: { status: 409, when: "another project of the organization, or another organization, has this name" },
  project_archived: { status: 409, when: "the project is archived and takes no deployments" },
  not_cancellable: { status: 409, when: "the work is in a state that cannot be cancelled" },
  no_previous_version: {
    status: 409,
    when: "no earlier deployment of this environment became active, or nothing is live in it",
  },
  last_owner: { status: 409, when: "the organization would be left without an active owner" },
  already_member: { status: 409, when: "the address belongs to a member" },
  invitation_pending: { status: 409, when: "the address has an invitation that has not expired yet" },
  limit_reached: { status: 409, when: "the organization has reached the limit for these records" },
  domain_taken: { status: 409, when: "another environment of the service has this domain" },
  body_too_large: { status: 413, when: "the body is over 1 MiB (option `bodyLimit`)" },
  unsupported_media_type: { status: 415, when: "the body is not `application/json`" },
  range_not_satisfiable: { status: 416, when: "an asset's `Range` lies beyond its end" },
  misdirected_request: {
    status: 421,
    when: "the `Host` is not one of this service: loopback names, the public URL, option `hosts`",
  },
  validation_failed: { status: 422, when: "body or query breaks a rule; `details` lists every broken rule" },
  idempotency_mismatch: { status: 422, when: "the idempotency key was used before with another body" },
  upgrade_required: { status: 426, when: "the path is a WebSocket, and the request is not an upgrade" },
  rate_limited: { status: 429, when: "the window's requests are used up; `Retry-After` tells how long to wait" },
  internal_error: { status: 500, when: "an error of the service; the log has it under the request id" },
  unavailable: {
    status: 503,
    when: "shutting down, or the store cannot be written; `Retry-After` tells when to try again",
  },
} as const satisfies Record<string, { status: number; when: string }>;

export type ProblemCode = keyof typeof problems;

/** One broken rule of a body or query. `path` is dotted: `source.repo`, `events.0`. */
export interface Detail {
  readonly path: string;
  readonly message: string;
}

/** An expected failure, with a code of the table. Its message names the mistake and the fix. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly details: readonly Detail[] | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether its cause is already logged. */
  readonly isLogged: boolean;

  constructor(
    code: ProblemCode,
    message: string,
    more: {
      details?: readonly Detail[];
      headers?: Record<string, string>;
      cause?: unknown;
      isLogged?: boolean;
    } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.name = "Problem";
    this.code = code;
    this.details = more.details;
    this.headers = more.headers ?? {};
    this.isLogged = more.isLogged ?? false;
  }

  get status(): number {
    return problems[this.code].status;
  }
}

/** 422 for these broken rules. `count` is their number, if not all are listed. */
export function invalidAll(details: readonly Detail[], count = details.length): Problem {
  const [first] = details;
  const cut = count > details.length ? `; details lists the first ${details.length}` : "";
  const more = count > 1 ? ` (and ${count - 1} more error${count > 2 ? "s" : ""}${cut})` : "";
  return new Problem("validation_failed", `${first?.path} ${first?.message}${more}`, { details });
}

/** 422 for a rule that a schema cannot check, because it depends on a record or an option. */
export const invalid = (path: string, message: string): Problem => invalidAll([{ path, message }]);

/** Throws 422 for all of these rules that are broken, if any: those with a message. */
export function refuseBroken(rules: readonly (readonly [path: string, message: string | undefined])[]): void {
  const broken = rules.flatMap(([path, message]) => (message === undefined ? [] : [{ path, message }]));
  if (broken.length > 0) throw invalidAll(broken);
}

/** Whether this error is already logged: a full disk is logged once, not for each request and job. */
export const isLogged = (error: unknown): boolean => error instanceof Problem && error.isLogged;

/** Whether a record was found: false for a 404, while other errors are thrown on. */
export const isThere = (found: Promise<unknown>): Promise<boolean> =>
  found.then(
    () => true,
    (error) => {
      if (error instanceof Problem && error.code === "not_found") return false;
      throw error;
    },
  );

/** 404, the same for an unknown identifier and for one of another organization. */
export const notFound = (what: string): Problem => new Problem("not_found", `no ${what} has this identifier`);

export async function orNotFound<T>(found: Promise<T | undefined>, what: string): Promise<T> {
  const record = await found;
  if (record === undefined) throw notFound(what);
  return record;
}
