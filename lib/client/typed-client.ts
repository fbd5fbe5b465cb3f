import type * as v from "valibot";
import type { Schema } from "../kernel/validation.ts";
import type { EveryOperation } from "../operations.ts";
import { calls, prefixes } from "./calls.ts";
import { follow } from "./follow.ts";
import type { CallOptions, Request, Sender } from "./send.ts";
import { type WaitOptions, waitFor } from "./wait.ts";

/** `projects.list`, `deployments.create`, … */
export type OperationId = EveryOperation["id"];
type Of<Id> = Extract<EveryOperation, { readonly id: Id }>;

type Names<Path> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never;
type Given<S> = S extends Schema ? v.InferInput<S> : unknown;
// Callers pass the numbers of a query as numbers: they are text only in the URL.
type Query<S> = S extends Schema ? v.InferOutput<S> : unknown;
type Whole<T> = { [K in keyof T]: T[K] };

/** The input of a call: path parameters, query and body fields in one object. */
export type Input<Id extends OperationId> =
  Of<Id> extends { path: infer Path; query: infer Q; body: infer B }
    ? Whole<{ [Name in Names<Path>]: string } & Query<Q> & Given<B>>
    : never;

export interface Meta {
  readonly request_id: string;
  readonly timestamp: string;
}
/** One page of a list, in the flat form. */
export interface Page<T> {
  readonly data: readonly T[];
  readonly meta: Meta & { readonly per_page: number; readonly next_cursor: string | null };
}

/** The record that an operation answers, without the envelope. */
export type Result<Id extends OperationId> =
  Of<Id> extends { result: infer R } ? (R extends Schema ? v.InferInput<R> : never) : never;

/** The answer of a call: always in the flat form, whatever envelope the service uses. */
export type Answer<Id extends OperationId> = Of<Id>["answers"] extends "empty"
  ? undefined
  : Of<Id>["answers"] extends "document"
    ? Readonly<Record<string, unknown>>
    : Of<Id>["answers"] extends "list" | "stream"
      ? Page<Result<Id>>
      : Result<Id> & { readonly meta: Meta };

type Call<Id extends OperationId> =
  Record<never, never> extends Input<Id>
    ? (input?: Input<Id>, options?: CallOptions) => Promise<Answer<Id>>
    : (input: Input<Id>, options?: CallOptions) => Promise<Answer<Id>>;

type Feature = keyof typeof calls;
/** Mapped from `calls` without another name for any key, so that editors show the doc comments there. */
type Calls = {
  readonly [F in Feature]: {
    readonly [Verb in keyof (typeof calls)[F]]: Call<Extract<OperationId, `${F}.${Verb & string}`>>;
  };
};
/** The features whose records end by themselves. */
const works = ["deployments", "generations"] as const satisfies readonly Feature[];
type Work = (typeof works)[number];

export type Client = Calls & {
  /** Every item of a list, page after page: `for await (const project of client.paginate(client.projects.list))`. */
  paginate<I extends object | undefined, T>(
    list: (input: I, options?: CallOptions) => Promise<Page<T>>,
    input?: NoInfer<I>,
    options?: CallOptions,
  ): AsyncGenerator<T>;
  /**
   * The record once its work has ended, with any outcome; `timeout` (milliseconds) or a `signal` limits the wait. Rejects with
   * `timed_out` after that, and once nobody has moved a manual clock for two seconds; over a port that takes four seconds at
   * the beginning of the wait, and half a minute later.
   *
   * @throws {TypeError} for a feature whose records never end.
   */
  waitUntilDone<F extends Work>(feature: F, id: string, options?: WaitOptions): Promise<Answer<`${F}.get`>>;
  /** The entries of a deployment's log as they are written, until it has ended. */
  followLogs(id: string, options?: CallOptions): AsyncGenerator<Result<"deployments.logs">>;
  /** Calls any operation by its name, for programs that know the name only at run time. Answers the flat form. */
  call(id: string, input?: Readonly<Record<string, unknown>>, options?: CallOptions): Promise<unknown>;
};

/** The client over a sender: every operation as a typed call, and the helpers built on them. */
export function clientOver(sender: Sender): Client {
  const call: Client["call"] = async (id, input, given) => sender.call(requestOf(id, input), given);
  const features: Record<string, Record<string, unknown>> = {};
  for (const [feature, verbs] of Object.entries(calls)) {
    const methods = Object.keys(verbs).map((verb) => [
      verb,
      (input: object, given: CallOptions) => call(`${feature}.${verb}`, { ...input }, given),
    ]);
    features[feature] = Object.fromEntries(methods);
  }
  const more: Omit<Client, Feature> = {
    call,
    paginate,
    // The service shapes its answers by the schemas from which these types are inferred.
    waitUntilDone: (async (feature: string, id: string, given?: WaitOptions) => {
      const get = `${workOf(feature)}.get`;
      return waitFor(sender, (wait) => requestOf(get, { id, wait }), given);
    }) as never,
    followLogs: (id, given = {}) =>
      follow(sender, requestOf("deployments.logs", { id, follow: "true" }), given) as never,
  };
  return { ...features, ...more } as Client;
}

function workOf(feature: string): string {
  if (works.some((work) => work === feature)) return feature;
  throw new TypeError(`waitUntilDone is for ${works.join(" and ")}, which end, and not for ${feature}`);
}

const byId: ReadonlyMap<string, string> = new Map(
  Object.entries(calls).flatMap(([feature, verbs]) =>
    Object.entries(verbs).map(([verb, call]): [string, string] => [`${feature}.${verb}`, call]),
  ),
);

const templateOf = (id: string): string => byId.get(id) ?? "";

/** The parameters in an operation's path, in order, each with an example: `{ id: "proj_…" }`. */
export function pathExamples(id: string): Readonly<Record<string, string>> {
  const names = templateOf(id).matchAll(/([\w-]+)\/\{(\w+)\}/g);
  const prefixOf = new Map<string, string>(Object.entries(prefixes));
  return Object.fromEntries(
    [...names].map(([, collection = "", name = ""]) => {
      const prefix = prefixOf.get(collection);
      return [name, prefix === undefined ? "…" : `${prefix}_…`];
    }),
  );
}

/** Splits an input: the path takes its parameters; the rest is the body, or the query if the operation takes no body. */
function requestOf(id: string, input: Readonly<Record<string, unknown>> = {}): Request {
  const [method = "", template, takesBody] = templateOf(id).split(" ");
  if (template === undefined) throw new TypeError(`no operation is called ${id}`);
  const rest = { ...input };
  const params: Record<string, string> = {};
  const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = rest[name];
    delete rest[name];
    if (typeof value !== "string" || /^\.{0,2}$/.test(value)) {
      const examples = Object.entries(pathExamples(id)).map(([one, example]) => `${one}: "${example}"`);
      throw new TypeError(`${id} needs ${name}: ${id}({ ${examples.join(", ")} })`);
    }
    params[name] = value;
    return encodeURIComponent(value);
  });
  const query = new URLSearchParams();
  if (takesBody) return { id, method, path, params, query, body: rest };
  for (const [name, value] of Object.entries(rest)) if (value !== undefined) query.append(name, String(value));
  // The service holds a request with `wait` for at most a minute.
  const extra_ms = 1000 * Math.min(Math.max(Number(rest["wait"]) || 0, 0), 60);
  return { id, method, path: query.size > 0 ? `${path}?${query}` : path, params, query, extra_ms };
}

async function* paginate<I extends object | undefined, T>(
  list: (input: I, options?: CallOptions) => Promise<Page<T>>,
  input?: I,
  options?: CallOptions,
): AsyncGenerator<T> {
  let cursor: string | null | undefined;
  do {
    const page: Page<T> = await list({ ...input, ...(cursor && { cursor }) } as I, options);
    yield* page.data;
    cursor = page.meta.next_cursor;
  } while (cursor);
}
