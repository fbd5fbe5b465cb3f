import type { IncomingMessage } from "node:http";

/** Hop-by-hop headers. They end at the proxy. */
const ofConnection = new Set([
  ...["connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization", "te", "trailer"],
  ...["transfer-encoding", "upgrade"],
]);
/** Headers that say where a request comes from. Gateways such as WSGI and CGI read an underscore as a hyphen. */
const forwarded = /^(x[-_](forwarded[-_].*|real[-_]ip)|forwarded)$/;
/**
 * Headers that frame a message or choose its app. If `Connection` could remove one, the app would read another request
 * than the proxy did.
 */
const framing = ["content-length", "transfer-encoding", "host"];

const none: ReadonlySet<string> = new Set();

/** The headers that `Connection` names, in lower case: thousands fit into one message, so it is split only once. */
function namedBy({ headers: { connection = "" } }: IncomingMessage): ReadonlySet<string> {
  // The usual values name no header.
  if (connection === "" || connection === "keep-alive" || connection === "close") return none;
  return new Set(connection.split(",").map((one) => one.trim().toLowerCase()));
}

/** Alternating names and values, without hop-by-hop headers, in their order and spelling. */
export function passedHeaders(message: IncomingMessage): string[] {
  const { rawHeaders } = message;
  const named = namedBy(message);
  const passed: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [name = "", value = ""] = [rawHeaders[i], rawHeaders[i + 1]];
    const lower = name.toLowerCase();
    if (!ofConnection.has(lower) && !named.has(lower)) passed.push(name, value);
  }
  return passed;
}

/** Why the end of a request is ambiguous; undefined if it is clear. Node refuses all other malformed requests. */
export function framingFault(request: IncomingMessage): string | undefined {
  const { headers, httpVersion } = request;
  const coding = headers["transfer-encoding"];
  const named = namedBy(request);
  const removed = framing.find((name) => named.has(name));
  if (removed !== undefined) return `The header Connection must not name ${removed}`;
  if (coding === undefined) return undefined;
  if (headers["content-length"] !== undefined) return "A request has Content-Length or Transfer-Encoding, not both";
  if (httpVersion !== "1.1") return "Transfer-Encoding is of HTTP/1.1";
  return coding.toLowerCase() === "chunked" ? undefined : "The only Transfer-Encoding is chunked";
}

/**
 * The headers of a request to an app. Unless a trusted proxy is in front, addresses that the client claims are dropped.
 */
export function requestHeaders(
  request: IncomingMessage,
  { behindProxy, hidesAuthorization }: { readonly behindProxy: boolean; readonly hidesAuthorization: boolean },
): string[] {
  const passed = passedHeaders(request);
  const headers: string[] = [];
  for (let i = 0; i < passed.length; i += 2) {
    const lower = (passed[i] ?? "").toLowerCase();
    if (forwarded.test(lower) || (hidesAuthorization && lower === "authorization")) continue;
    headers.push(passed[i] ?? "", passed[i + 1] ?? "");
  }
  const of = (name: string) => (behindProxy ? request.headers[name]?.toString() : undefined);
  const { remoteAddress: address = "", localPort } = request.socket;
  const before = of("x-forwarded-for");
  // The trusted proxy added the last address. The client may have invented the earlier ones.
  const client = before?.slice(before.lastIndexOf(",") + 1).trim();
  const port = behindProxy ? of("x-forwarded-port") : localPort;
  headers.push("X-Forwarded-For", before ? `${before}, ${address}` : address);
  headers.push("X-Forwarded-Host", of("x-forwarded-host") ?? request.headers.host ?? "");
  headers.push("X-Forwarded-Proto", of("x-forwarded-proto") ?? "http");
  if (port !== undefined) headers.push("X-Forwarded-Port", String(port));
  headers.push("X-Real-IP", client || address);
  // Node sends the body of a GET in chunks only if this header says so.
  if (request.headers["transfer-encoding"] !== undefined) headers.push("Transfer-Encoding", "chunked");
  return headers;
}

/** Whether a request has a body, which can be sent only once. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
