import type { IncomingMessage, ServerResponse } from "node:http";
import type { Ids } from "../kernel/ids.ts";
import { monotonicNow } from "../kernel/node/system.ts";
import { AbortController, TextEncoder } from "../kernel/node/web.ts";
import { clientAddress } from "./client-address.ts";

/** The version prefix of each path. */
export const base = "/v1";

/** One request, over a socket or in process. Immutable. Query, address, body and signal are computed on demand. */
export interface RequestContext {
  readonly id: string;
  /** The id in the audit log. It is never the caller's own, which could be the id of another request. */
  auditId(): string;
  readonly method: string;
  readonly path: string;
  /** The query as it came, with its question mark; empty without one. */
  search(): string;
  query(): URLSearchParams;
  /** The address for counting a request without a key; undefined in process. */
  address(): string | undefined;
  /** Node's request; undefined in process. */
  readonly incoming: IncomingMessage | undefined;
  /** Node's response, which is faster than a web Response; undefined in process and for an upgrade. */
  readonly outgoing: ServerResponse | undefined;
  readonly params: Readonly<Record<string, string>>;
  /** The body of a request in process; empty for others. */
  body(): Promise<ArrayBuffer>;
  /** Aborted when the client disconnects. */
  signal(): AbortSignal;
  header(name: string): string | undefined;
  /** The time of arrival, in milliseconds of the monotonic clock. */
  readonly began: number;
}

export const isVersioned = ({ path }: RequestContext): boolean => path === base || path.startsWith(`${base}/`);

/** A caller's own `X-Request-Id` is kept if it has 1 to 128 of these characters. */
const ownId = /^[A-Za-z0-9._-]{1,128}$/;

export function identityOf(own: string | undefined, ids: Ids): Pick<RequestContext, "id" | "auditId"> {
  const id = own !== undefined && ownId.test(own) ? own : ids.next("req");
  let auditId = id === own ? undefined : id;
  return {
    id,
    auditId() {
      auditId ??= ids.next("req");
      return auditId;
    },
  };
}

interface Routed {
  readonly incoming: IncomingMessage;
  /** Undefined for an upgrade. */
  readonly outgoing: ServerResponse | undefined;
  readonly path: string;
  readonly search: string;
  readonly params: Readonly<Record<string, string>>;
  readonly behindProxy: boolean;
}

export function contextOfSocket(routed: Routed, ids: Ids): RequestContext {
  const { incoming, outgoing, path, search, params, behindProxy } = routed;
  const header = (name: string) => incoming.headers[name] as string | undefined;
  return {
    method: incoming.method ?? "GET",
    path,
    search: () => search,
    query: () => new URLSearchParams(search),
    address: () => clientAddress(incoming, behindProxy),
    incoming,
    outgoing,
    params,
    body: async () => new ArrayBuffer(0),
    signal: () => signalOf(incoming, outgoing),
    header,
    began: monotonicNow(),
    ...identityOf(header("x-request-id"), ids),
  };
}

/** Aborted when the client disconnects before the answer has ended. An upgrade lasts as long as its connection. */
function signalOf({ socket }: IncomingMessage, outgoing: ServerResponse | undefined): AbortSignal {
  const control = new AbortController();
  const leave = () => {
    if (!outgoing?.writableEnded) control.abort();
  };
  (outgoing ?? socket).once("close", leave);
  // The client may have disconnected before the first call.
  if (outgoing?.destroyed) leave();
  return control.signal;
}

/** A call of an operation by name, in process: there is no request to route or parse. */
export interface InProcessCall {
  readonly method: string;
  /** Without the version prefix and the query. */
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** JSON; undefined if there is no body. */
  readonly body: string | undefined;
  /** Keyed by lower-case name. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal | undefined;
}

export function contextOfCall(
  { method, path, params, query, body, headers, signal }: InProcessCall,
  ids: Ids,
): RequestContext {
  return {
    method,
    path: base + path,
    search: () => `?${query}`,
    query: () => query,
    address: () => undefined,
    incoming: undefined,
    outgoing: undefined,
    params,
    body: async () => new TextEncoder().encode(body).buffer,
    signal: () => signal ?? new AbortController().signal,
    header: (name) => headers[name],
    began: monotonicNow(),
    ...identityOf(headers["x-request-id"], ids),
  };
}

/** A repeated parameter becomes a list. A schema that expects a single value refuses it. */
export function queryOf({ query }: Pick<RequestContext, "query">): Record<string, string | string[]> {
  const all: Record<string, string | string[]> = Object.create(null);
  for (const [name, value] of query()) {
    const before = all[name];
    if (Array.isArray(before)) before.push(value);
    else all[name] = before === undefined ? value : [before, value];
  }
  return all;
}
