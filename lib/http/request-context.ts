import type { IncomingMessage, ServerResponse } from "node:http";
import type { H3Event } from "h3";
import { monotonicNow } from "../kernel/clock.ts";
import type { Ids } from "../kernel/ids.ts";
import type { Fault } from "./fault.ts";
import type { Window } from "./rate-limit.ts";

/** SPEC "Versioning": "The current version is `v1`, carried as the path prefix". */
export const base = "/v1";

/** One request with what is known of it, whether it came over a socket or in process. */
export interface RequestContext {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  query(): URLSearchParams;
  /** The address that is counted; undefined in process. */
  address(): string | undefined;
  /** The request as it came over a socket; undefined in process. */
  readonly socket: IncomingMessage | undefined;
  /** Where its answer can be written without a detour over web streams; undefined in process. */
  readonly reply: ServerResponse | undefined;
  /** What stands in the places of the path. */
  readonly params: Readonly<Record<string, string>>;
  /** The body of a request in process. */
  body(): Promise<ArrayBuffer>;
  /** Aborted when whoever asked has gone. */
  asker(): AbortSignal;
  header(name: string): string | undefined;
  /** The bucket that this request was counted in. */
  window: Window | undefined;
  /** Whose key it came with, once that is known. */
  key_id: string | null;
  /** Whether what is known of the key is certainly so still, as the present transaction sees it. */
  isCurrent(): boolean;
  /** What a tester has in store for it. */
  fault: Fault | undefined;
  /** The key, once it was looked for. It may come later than the request: a browser cannot send it with a WebSocket. */
  token: string | undefined;
  /** When it came, by the machine's clock. */
  readonly begun: number;
  /** Asked every few seconds by a machine, so that it is no news in the log. */
  isRoutine: boolean;
}

export const isVersioned = ({ path }: RequestContext): boolean => path === base || path.startsWith(`${base}/`);

/** CONTRACT section 1: "A caller's own `X-Request-Id` (1–128 of `[A-Za-z0-9._-]`) is kept." */
const ownId = /^[A-Za-z0-9._-]{1,128}$/;

const idOf = (own: string | undefined, ids: Ids): string =>
  own !== undefined && ownId.test(own) ? own : ids.next("req");

const never = () => false;
const noQuery = new URLSearchParams();

/** What every exchange begins with. It goes behind the other keys: before them Node 20 takes ten times as long. */
const begun = (): Pick<
  RequestContext,
  "window" | "key_id" | "isCurrent" | "fault" | "token" | "begun" | "isRoutine"
> => ({
  window: undefined,
  key_id: null,
  isCurrent: never,
  fault: undefined,
  token: undefined,
  begun: monotonicNow(),
  isRoutine: false,
});

export function exchangeOf(event: H3Event, ids: Ids, behindProxy: boolean): RequestContext {
  const node = event.runtime?.node;
  const socket = node?.req as IncomingMessage | undefined;
  const header = socket
    ? (name: string) => socket.headers[name] as string | undefined
    : (name: string) => event.req.headers.get(name) ?? undefined;
  return {
    id: idOf(header("x-request-id"), ids),
    method: event.req.method,
    path: event.url.pathname,
    // Most requests need neither. Getters would take longer to make than the rest of this object together.
    query: () => (event.url.search === "" ? noQuery : event.url.searchParams),
    address: () => socket && addressOf(socket, behindProxy),
    socket,
    reply: node?.res as ServerResponse | undefined,
    params: event.context.params ?? {},
    body: () => event.req.arrayBuffer(),
    asker: () => event.req.signal,
    header,
    ...begun(),
  };
}

/** A request that asks for another protocol: it has no body, and lasts as long as its connection. */
export function exchangeOfUpgrade(socket: IncomingMessage, ids: Ids, behindProxy: boolean): RequestContext {
  const [path = "", query = ""] = (socket.url ?? "").split("?", 2);
  return {
    id: idOf(socket.headers["x-request-id"] as string | undefined, ids),
    method: socket.method ?? "GET",
    path,
    query: () => new URLSearchParams(query),
    address: () => addressOf(socket, behindProxy),
    socket,
    reply: undefined,
    params: {},
    body: async () => new ArrayBuffer(0),
    asker: () => {
      const control = new AbortController();
      socket.socket.once("close", () => control.abort());
      return control.signal;
    },
    header: (name) => socket.headers[name] as string | undefined,
    ...begun(),
  };
}

/** An operation that is called in this process by its name, without a request: nothing has to be routed or parsed. */
export interface Called {
  readonly method: string;
  /** Below the version, without the query. */
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** JSON; undefined where there is none. */
  readonly body: string | undefined;
  /** By their names in small letters. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

export function exchangeOfCall(
  { method, path, params, query, body, headers, signal }: Called,
  ids: Ids,
): RequestContext {
  return {
    id: idOf(headers["x-request-id"], ids),
    method,
    path,
    query: () => query,
    address: () => undefined,
    socket: undefined,
    reply: undefined,
    params,
    body: async () => new TextEncoder().encode(body).buffer,
    asker: () => signal,
    header: (name) => headers[name],
    ...begun(),
  };
}

/** A repeated parameter becomes a list, which a schema of one value refuses by itself. */
export function queryOf({ query }: Pick<RequestContext, "query">): Record<string, string | string[]> {
  const all: Record<string, string | string[]> = Object.create(null);
  for (const [name, value] of query()) {
    const before = all[name];
    all[name] = before === undefined ? value : [before, value].flat();
  }
  return all;
}

/** Behind a proxy that was named, the last address of `X-Forwarded-For` is the one that this proxy saw. */
function addressOf(socket: IncomingMessage, behindProxy: boolean): string {
  const forwarded = behindProxy
    ? String(socket.headers["x-forwarded-for"] ?? "")
        .split(",")
        .at(-1)
        ?.trim()
    : undefined;
  const address = bare(forwarded || socket.socket.remoteAddress || "unknown");
  // One host has a whole /64 of IPv6 addresses to choose from, so it is counted as one.
  return address.includes(":") ? network(address) : address;
}

/** Without port, brackets, zone, or the prefix of an IPv4 address in IPv6. */
function bare(address: string): string {
  const [, inBrackets] = /^\[([^\]]+)\](?::\d+)?$/.exec(address) ?? [];
  const text = (inBrackets ?? address).replace(/%.*$/, "").replace(/^::ffff:(?=\d+\.)/i, "");
  return text.replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, "$1");
}

/** The first four groups, written out. */
function network(address: string): string {
  const [head = "", tail] = address.toLowerCase().split("::");
  const groups = head.split(":").filter(Boolean);
  const after = (tail ?? "").split(":").filter(Boolean);
  const missing = tail === undefined ? [] : new Array<string>(Math.max(0, 8 - groups.length - after.length)).fill("0");
  return [...groups, ...missing, ...after]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":");
}
