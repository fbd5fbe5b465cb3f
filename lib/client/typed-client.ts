import type { Page } from "./answers.ts";
import { follow } from "./follow.ts";
import { calls, prefixes } from "./generated/calls.ts";
import type { Calls, OperationTypes } from "./generated/methods.ts";
import type { LogEntry } from "./generated/records.ts";
import type { CallOptions, Request, Sender } from "./send.ts";
import { type WaitOptions, waitFor } from "./wait.ts";

/** `projects.list`, `deployments.create`, … */
export type OperationId = keyof OperationTypes;
/** The input of a call: path parameters, query and body fields in one object. */
export type Input<Id extends OperationId> = OperationTypes[Id]["input"];
/** The record that an operation returns, without the envelope. */
export type Result<Id extends OperationId> = OperationTypes[Id]["result"];
/** The response of a call: always in the flat form, whichever envelope the service uses. */
export type Answer<Id extends OperationId> = OperationTypes[Id]["answer"];

type Feature = keyof Calls;
/** The features whose records reach a final state by themselves. */
const works = ["deployments", "generations"] as const satisfies readonly Feature[];
type Work = (typeof works)[number];

export type Client = Calls & {
  /** Every item of a list across its pages: `for await (const project of client.paginate(client.projects.list))`. */
  readonly paginate: <I extends object | undefined, T>(
    list: (input: I, options?: CallOptions) => Promise<Page<T>>,
    input?: NoInfer<I>,
    options?: CallOptions,
  ) => AsyncGenerator<T>;
  /**
   * Like `client.deployments.waitUntilDone(id)` and `client.generations.waitUntilDone(id)`.
   *
   * @throws {TypeError} for a feature whose records have no final state.
   */
  readonly waitUntilDone: <F extends Work>(
    feature: F,
    id: string,
    options?: WaitOptions,
  ) => Promise<Answer<`${F}.get`>>;
  /**
   * The entries of a log as they are written: of a deployment, until it has ended, or of the app of an environment,
   * until the environment is deleted. Returns the status with which the stream ended.
   */
  readonly followLogs: (
    of: string | { readonly id: string; readonly name: string },
    options?: CallOptions,
  ) => AsyncGenerator<LogEntry, { status: string } | undefined>;
  /** Calls any operation by name, for programs that know the name only at run time. Returns the flat form. */
  readonly call: (id: string, input?: Readonly<Record<string, unknown>>, options?: CallOptions) => Promise<unknown>;
};

/** Whether a call follows a log. Inputs of models may be called `follow` too. */
export const follows = (id: string, input: Readonly<Record<string, unknown>> | undefined): boolean =>
  input?.["follow"] === true && (id === "deployments.logs" || id === "environments.logs");

/** A client on top of a sender: every operation as a typed call, and helpers built on them. */
export function clientOver(sender: Sender): Client {
  const call: Client["call"] = async (id, input, given) => {
    if (follows(id, input)) throw new TypeError(`${id} is a stream with follow; read it with followLogs of the client`);
    return sender.call(requestOf(id, input), given);
  };
  const features: Record<string, Record<string, unknown>> = {};
  for (const [feature, verbs] of Object.entries(calls)) {
    const methods = Object.keys(verbs).map((verb) => [
      verb,
      (input: object, given: CallOptions) => call(`${feature}.${verb}`, { ...input }, given),
    ]);
    const callsOfFeature = Object.fromEntries(methods);
    features[feature] = callsOfFeature;
    // `client.auditLog` is the same as `client["audit-log"]`.
    features[feature.replaceAll(/-(.)/g, (_, next: string) => next.toUpperCase())] = callsOfFeature;
  }
  const waitUntilDone = async (feature: string, id: string, given?: WaitOptions) =>
    waitFor(sender, (wait) => requestOf(`${workOf(feature)}.get`, { id, wait }), given);
  for (const feature of works)
    Object.assign(features[feature] ?? {}, {
      waitUntilDone: (id: string, given?: WaitOptions) => waitUntilDone(feature, id, given),
    });
  const more: Omit<Client, Feature> = {
    call,
    paginate,
    // The service shapes its responses by the schemas that these types are generated from.
    waitUntilDone: waitUntilDone as never,
    followLogs: (of, given = {}) => {
      const [id, key] = typeof of === "string" ? ["deployments.logs", { id: of }] : ["environments.logs", of];
      return follow(sender, requestOf(id, { ...key, follow: true }), given) as never;
    },
  };
  return { ...features, ...more } as Client;
}

function workOf(feature: string): string {
  if (works.some((work) => work === feature)) return feature;
  throw new TypeError(`waitUntilDone works only for ${works.join(" and ")}, not for ${feature}`);
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

/** The input without the path parameters becomes the body, or the query if the operation has no body. */
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
  // The service holds a request with `wait` open for at most a minute.
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
