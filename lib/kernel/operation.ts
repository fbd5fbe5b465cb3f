import type * as v from "valibot";
import { Problem, type ProblemCode } from "./errors.ts";
import type { Page } from "./page.ts";
import { shaper } from "./result-shape.ts";
import { inScope, type Need, type Role, roles, rolesFor } from "./roles.ts";
import type { Stream } from "./stream.ts";
import type { TransactionHooks } from "./transaction-hooks.ts";
import { check, type Schema } from "./validation.ts";

/** Who makes a request: the user behind the API key, as they are at this moment. */
export interface Caller extends TransactionHooks {
  readonly organization_id: string;
  readonly user_id: string;
  readonly role: Role;
  readonly key_id: string;
  readonly scopes: readonly string[];
}

/** The caller of an operation that needs no key. It belongs to no organization, so nothing is found for it. */
export const nobody: Caller = {
  organization_id: "",
  user_id: "",
  role: "viewer",
  key_id: "",
  scopes: [],
};

/** What arrived, before anything of it was judged. */
export interface Input {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string | string[]>>;
  /** Undefined where no body was sent. */
  readonly body: unknown;
  /** The last entry that the caller has of a stream: the header `Last-Event-ID`. */
  readonly resume?: string | undefined;
  /** For what waits: aborted when the caller has gone or has to go. Asked for only where something waits. */
  readonly signal: () => AbortSignal;
}

type Parsed<S extends Schema | undefined> = S extends Schema ? v.InferOutput<S> : Record<never, never>;
/** What a service returns for a result: a field that may be left out may be null as well, as a column is. */
type Returned<S extends Schema> =
  v.InferInput<S> extends infer T ? { [K in keyof T]: undefined extends T[K] ? T[K] | null : T[K] } : never;
type Listed<S> = Page<S extends Schema ? Returned<S> : never>;
type Result<Kind extends Answers, S extends Schema | undefined> = Kind extends "list"
  ? Listed<S>
  : Kind extends "stream"
    ? Listed<S> | Stream
    : Kind extends "empty"
      ? // biome-ignore lint/suspicious/noConfusingVoidType: it is the type of what a function returns
        void
      : Kind extends "document"
        ? object
        : S extends Schema
          ? Returned<S>
          : never;

/**
 * `created` answers 201 with `Location`, `object` and `list` 200, `accepted` 202, `empty` 204. `stream` is a list that
 * goes on as Server-Sent Events where it is followed; `socket` answers 101 and goes on as a WebSocket. `document` answers
 * 200 with JSON of a form of its own.
 */
export type Answers = "created" | "object" | "accepted" | "list" | "stream" | "socket" | "empty" | "document";

interface Declaration<Services, Id extends string, Path extends string, Kind extends Answers, P, Q, B, R> {
  /** `feature.verb`, as `svc-server call` and the typed client name it. */
  readonly id: Id;
  readonly summary: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below the version prefix: `/projects/{id}`. */
  readonly path: Path;
  /** The capability of the role and the scope of the key; `key` for any key, `nothing` for none. */
  readonly needs: Need | "key" | "nothing";
  /** Who may, where that is not everybody who has the capability. */
  readonly roles?: readonly Role[];
  readonly answers: Kind;
  /** Where the made record can be read; for `created` only. Default: the path, then the record's id. */
  readonly location?: string;
  /** Ours, not the specification's: marked in the OpenAPI document. */
  readonly addition?: true;
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  readonly result?: R;
  /** The problems that it may answer with beside those that every operation may. */
  readonly problems: readonly ProblemCode[];
  run(
    input: {
      params: Parsed<P extends Schema ? P : undefined>;
      query: Parsed<Q extends Schema ? Q : undefined>;
      body: Parsed<B extends Schema ? B : undefined>;
    } & Pick<Input, "resume" | "signal">,
    services: Services,
    caller: Caller,
  ): Promise<Result<Kind, R extends Schema ? R : undefined>>;
}

/** One operation, as everything derived from it sees it: routes, OpenAPI, permission checks, tables, tests. */
export interface Operation {
  readonly id: string;
  readonly summary: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly needs: Need | "key" | "nothing";
  /** The roles that may call it: every role where a key, or nothing, is all that it needs. */
  readonly roles: readonly Role[];
  readonly answers: Answers;
  readonly location: string | undefined;
  readonly addition: boolean;
  readonly params: Schema | undefined;
  readonly query: Schema | undefined;
  readonly body: Schema | undefined;
  readonly result: Schema | undefined;
  readonly problems: readonly ProblemCode[];
  /** Drops from one record whatever the result schema does not name. */
  shape(record: unknown): unknown;
  run(input: unknown, services: unknown, caller: Caller): Promise<unknown>;
}

/** An operation with the types of its declaration, so that the typed client is inferred from the list of them. */
export interface Declared<Id extends string, Path extends string, Kind extends Answers, Q, B, R> extends Operation {
  readonly id: Id;
  readonly path: Path;
  readonly answers: Kind;
  readonly query: Q & (Schema | undefined);
  readonly body: B & (Schema | undefined);
  readonly result: R & (Schema | undefined);
}

/** `const operation = operationsOf<{ projects: ProjectsService }>()`: a builder that knows the services it may use. */
export function operationsOf<Services>() {
  return <
    const Id extends string,
    const Path extends string,
    const Kind extends Answers,
    P extends Schema | undefined = undefined,
    Q extends Schema | undefined = undefined,
    B extends Schema | undefined = undefined,
    R extends Schema | undefined = undefined,
  >(
    declared: Declaration<Services, Id, Path, Kind, P, Q, B, R>,
  ): Declared<Id, Path, Kind, Q, B, R> => ({
    ...declared,
    roles: declared.roles ?? (isNeed(declared.needs) ? rolesFor(declared.needs) : roles),
    location: declared.location,
    addition: declared.addition ?? false,
    params: declared.params,
    query: declared.query as Q & (Schema | undefined),
    body: declared.body as B & (Schema | undefined),
    result: declared.result as R & (Schema | undefined),
    shape: declared.result ? shaper(declared.result) : () => undefined,
    // The three inputs were parsed by these very schemas in execute(), which alone calls run().
    run: declared.run as Operation["run"],
  });
}

const isNeed = (needs: Need | "key" | "nothing"): needs is Need => needs !== "key" && needs !== "nothing";

/** Every operation may answer with these. */
export const everyProblem: readonly ProblemCode[] = [
  "unauthorized",
  "insufficient_role",
  "insufficient_scope",
  "rate_limited",
  "misdirected_request",
  "internal_error",
  "unavailable",
];

/** The codes that an operation may answer with; the tests hold every answer against it. */
export function problemsOf(operation: Operation): readonly ProblemCode[] {
  const writes = operation.method !== "GET" && operation.method !== "DELETE";
  const body: ProblemCode[] = writes ? ["invalid_json", "body_too_large", "unsupported_media_type"] : [];
  const rules: ProblemCode[] =
    operation.body || operation.query || operation.method === "POST" ? ["validation_failed"] : [];
  const idempotency: ProblemCode[] = operation.method === "POST" ? ["idempotency_mismatch"] : [];
  return [...new Set([...everyProblem, ...body, ...rules, ...idempotency, ...operation.problems])];
}

/** CONTRACT section 2: "A request needs the user's role and the key's scope", the role first. */
export function permit(operation: Operation, caller: Caller): void {
  const { needs, roles: allowed } = operation;
  if (!isNeed(needs)) return;
  if (!allowed.includes(caller.role)) {
    throw new Problem(
      "insufficient_role",
      `this needs the role ${allowed.join(" or ")}, and the key's user is ${caller.role}`,
    );
  }
  if (!inScope(caller.scopes, needs)) {
    throw new Problem(
      "insufficient_scope",
      `this needs the scope ${needs}, and the key has ${caller.scopes.join(", ") || "none"}`,
    );
  }
}

/** Parses, runs. Whoever calls has asked `permit` first. Throws at once for what breaks a rule. */
export function execute(operation: Operation, services: unknown, input: Input, caller: Caller): Promise<unknown> {
  const query = operation.query ? check(operation.query, input.query) : {};
  const body = operation.body ? check(operation.body, input.body) : {};
  const { params, resume, signal } = input;
  return operation.run({ params, query, body, resume, signal }, services, caller);
}
