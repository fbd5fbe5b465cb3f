import type * as v from "valibot";
import { Problem, type ProblemCode } from "./errors.ts";
import type { Way } from "./maker.ts";
import type { Stream } from "./node/stream.ts";
import type { LongList, Page } from "./page.ts";
import { type JsonText, writerOf } from "./result-text.ts";
import { inScope, type Need, type Role, roles, rolesFor } from "./roles.ts";
import type { OrganizationScope } from "./transaction-hooks.ts";
import { check, type Rules, type Schema } from "./validation.ts";

/** The caller of a request: the user of the API key, with their current role. */
export interface Caller extends OrganizationScope {
  readonly user_id: string;
  readonly role: Role;
  readonly key_id: string;
  readonly scopes: readonly string[];
  /** The interface of a call that changes something. */
  readonly via?: Way;
}

/** The caller of an operation that needs no key. This caller belongs to no organization, so it finds no records. */
export const anonymous: Caller = { organization_id: "", user_id: "", role: "viewer", key_id: "", scopes: [] };

export interface Input {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string | string[]>>;
  readonly body: unknown;
  /** The last stream entry that the client received: the header `Last-Event-ID`. */
  readonly resume?: string | undefined;
  /** Aborts waiting when the client disconnects or the service shuts down. Created on demand. */
  readonly signal: () => AbortSignal;
}

type Parsed<S extends Schema | undefined> = S extends Schema ? v.InferOutput<S> : Record<never, never>;
/** What services may return: null for an optional field, and for an object also its JSON, as columns hold it. */
type Returned<S extends Schema> =
  | (v.InferInput<S> extends infer T ? { [K in keyof T]: ReturnedField<T[K]> } : never)
  | JsonText;
type ReturnedField<T> =
  | (undefined extends T ? T | null : T)
  | (T extends readonly unknown[] ? never : T extends object ? JsonText : never);
type ListOf<S> = Page<S extends Schema ? Returned<S> : never> | LongList<S extends Schema ? Returned<S> : never>;
type Result<Kind extends Answers, S extends Schema | undefined> = Kind extends "list"
  ? ListOf<S>
  : Kind extends "stream"
    ? ListOf<S> | Stream
    : Kind extends "empty"
      ? // biome-ignore lint/suspicious/noConfusingVoidType: void is the type of a function without a result
        void
      : Kind extends "document"
        ? object
        : S extends Schema
          ? Returned<S>
          : never;

/**
 * `created` answers 201 with `Location`, `object` and `list` 200, `accepted` 202, `empty` 204. `stream` is a list; a
 * client that follows it gets later entries as Server-Sent Events. `socket` answers 101 and becomes a WebSocket.
 * `document` answers 200 with JSON without the envelope.
 */
export type Answers = "created" | "object" | "accepted" | "list" | "stream" | "socket" | "empty" | "document";

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
type Route = `${Method} /${string}`;
/** The parameters in a path: `{ id: string }` of `/projects/{id}`. */
type PathParameters<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Readonly<Record<Name, string>> & PathParameters<Rest>
  : unknown;

interface Declared<Services> {
  /** `feature.verb`: the name in `svc-server call` and the typed client. */
  readonly id: string;
  /** A few words in the imperative, without a full stop. */
  readonly summary: string;
  /** Sentences for callers: effects, events, limits. */
  readonly description: string;
  /** The role's capability and the key's scope; `key` for any key, `nothing` for none. */
  readonly needs: Need | "key" | "nothing";
  readonly answers: Answers;
  /** The path of the created record, for `created` only. Default: the path of the operation, then the id. */
  readonly location?: string;
  readonly query?: Schema | undefined;
  readonly body?: Schema | undefined;
  readonly result?: Schema | undefined;
  /** Throws 403 if the organization may not send this body. Runs before the rules of the body are checked. */
  permit?(body: unknown, services: Services, caller: Caller): Promise<void>;
}

type MaybeSchema = Schema | undefined;

interface Declaration<
  Services,
  At extends Route,
  Kind extends Answers,
  Q extends MaybeSchema,
  B extends MaybeSchema,
  R extends MaybeSchema,
> extends Declared<Services> {
  /** Method and path, below the version prefix: `GET /projects/{id}`. */
  readonly route: At;
  readonly answers: Kind;
  /** The problems of this operation, in addition to the common ones, and to `not_found` for a record in the path. */
  readonly problems?: readonly ProblemCode[];
  /** The allowed roles. Default: every role with the capability. */
  readonly roles?: readonly Role[];
  /** Whether the specification has it. The OpenAPI document marks the others as additions. */
  readonly specified?: true;
  /** False if the created record itself says who made it and when. By default, the audit log records every change. */
  readonly audited?: false;
  readonly query?: Q;
  readonly body?: B;
  readonly result?: R;
  run(
    input: {
      params: PathParameters<At>;
      query: Parsed<Q>;
      body: Parsed<B>;
    } & Pick<Input, "resume" | "signal">,
    services: Services,
    caller: Caller,
  ): Promise<Result<Kind, R>>;
}

/** An operation as routes, OpenAPI, permission checks, tables and tests see it. Running it needs its `Services`. */
export interface Operation<Services = never> extends Declared<Services> {
  readonly method: Method;
  /** Below the version prefix: `/projects/{id}`. */
  readonly path: string;
  readonly problems: readonly ProblemCode[];
  /** The roles that may call it. Every role, if it needs any key or none. */
  readonly roles: readonly Role[];
  readonly addition: boolean;
  readonly audited: boolean;
  /** Writes a record as JSON, with exactly the fields of the result schema. */
  write(record: unknown): string;
  readonly run: (input: unknown, services: Services, caller: Caller) => Promise<unknown>;
}

/** `operationsOf<{ projects: ProjectsService }>()` makes a builder of operations that use these services. */
export function operationsOf<Services>() {
  return <
    const At extends Route,
    const Kind extends Answers,
    Q extends MaybeSchema = undefined,
    B extends MaybeSchema = undefined,
    R extends MaybeSchema = undefined,
  >({
    route,
    specified,
    problems = [],
    ...declared
  }: Declaration<Services, At, Kind, Q, B, R>): Operation<Services> => {
    const [method, path] = route.split(" ") as [Method, string];
    return {
      ...declared,
      method,
      path,
      problems: [...(path.includes("{") ? (["not_found"] as const) : []), ...problems],
      roles: declared.roles ?? (isNeed(declared.needs) ? rolesFor(declared.needs) : roles),
      addition: !specified,
      audited: declared.audited ?? method !== "GET",
      write: declared.result ? writerOf(declared.result) : () => "null",
      // Sound, because only execute() calls run(), after parsing the inputs with these schemas; the parameters are those of the route.
      run: declared.run as Operation<Services>["run"],
    };
  };
}

const isNeed = (needs: Need | "key" | "nothing"): needs is Need => needs !== "key" && needs !== "nothing";

export const commonProblems: readonly ProblemCode[] = [
  "unauthorized",
  "insufficient_role",
  "insufficient_scope",
  "rate_limited",
  "misdirected_request",
  "internal_error",
  "unavailable",
];

/** All codes that an operation may answer with. The tests check every answer against them. */
export function problemsOf(operation: Operation): readonly ProblemCode[] {
  const writes = operation.method !== "GET" && operation.method !== "DELETE";
  const body: ProblemCode[] = writes ? ["invalid_json", "body_too_large", "unsupported_media_type"] : [];
  const rules: ProblemCode[] =
    operation.body || operation.query || operation.method === "POST" ? ["validation_failed"] : [];
  const idempotency: ProblemCode[] = operation.method === "POST" ? ["idempotency_mismatch"] : [];
  return [...new Set([...commonProblems, ...body, ...rules, ...idempotency, ...operation.problems])];
}

/** A request needs both the user's role and the key's scope. The role is checked first. */
export function authorize(operation: Operation, caller: Caller): void {
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

/** Validates the input and runs the operation. Call `authorize` first. Throws synchronously for invalid input. */
export function execute<Services>(
  operation: Operation<Services>,
  services: Services,
  input: Input,
  caller: Caller,
  rules: Rules,
): Promise<unknown> {
  const run = () => {
    const query = operation.query ? check(operation.query, input.query) : {};
    const body = operation.body ? check(operation.body, input.body, rules) : {};
    const { params, resume, signal } = input;
    return operation.run({ params, query, body, resume, signal }, services, caller);
  };
  return operation.permit ? operation.permit(input.body, services, caller).then(run) : run();
}
