import type { IncomingMessage } from "node:http";

/** Headers of one connection. They end at the proxy. */
const ofConnection = new Set([
  ...["connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization", "te", "trailer"],
  ...["transfer-encoding", "upgrade"],
]);
const forwarded = /^x-forwarded-(for|host|proto)$|^forwarded$/;

/** Names and values without the headers of the connection, in their order and spelling. */
export function passedHeaders({ rawHeaders, headers }: IncomingMessage): string[] {
  const named = (headers.connection ?? "").toLowerCase();
  const passed: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [name = "", value = ""] = [rawHeaders[i], rawHeaders[i + 1]];
    const lower = name.toLowerCase();
    if (ofConnection.has(lower)) continue;
    // `Connection: close` names no header, and most requests name none.
    if (named !== "" && named !== "keep-alive" && named !== "close" && namesHeader(named, lower)) continue;
    passed.push(name, value);
  }
  return passed;
}

const namesHeader = (connection: string, name: string) => connection.split(",").some((one) => one.trim() === name);

/**
 * The headers of a request for an app. Its Host stays. Where no trusted proxy stands before this one, what a client says
 * about its own address is dropped.
 */
export function requestHeaders(request: IncomingMessage, behindProxy: boolean): string[] {
  const passed = passedHeaders(request);
  const headers: string[] = [];
  for (let i = 0; i < passed.length; i += 2)
    if (!forwarded.test((passed[i] ?? "").toLowerCase())) headers.push(passed[i] ?? "", passed[i + 1] ?? "");
  const of = (name: string) => (behindProxy ? request.headers[name]?.toString() : undefined);
  const address = request.socket.remoteAddress ?? "";
  const before = of("x-forwarded-for");
  headers.push("X-Forwarded-For", before ? `${before}, ${address}` : address);
  headers.push("X-Forwarded-Host", of("x-forwarded-host") ?? request.headers.host ?? "");
  headers.push("X-Forwarded-Proto", of("x-forwarded-proto") ?? "http");
  return headers;
}

/** Whether a request has a body, which can be sent once only. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
