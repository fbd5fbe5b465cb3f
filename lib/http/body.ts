import type { IncomingMessage } from "node:http";
import { Problem } from "../kernel/errors.ts";
import type { RequestContext } from "./request-context.ts";

/** CONTRACT section 1: "nested deeper than 32 (32 levels pass)". */
const deepest = 32;

/** The bytes of a body, once it is known to be JSON and within the limit. Empty where none was sent. */
export async function readBody(exchange: RequestContext, limit: number): Promise<Buffer> {
  const declared = Number(exchange.header("content-length") ?? "0");
  if (declared > 0) refuseType(exchange);
  if (declared > limit) throw tooLarge(limit, declared <= mostDumped);
  // An empty body needs no type, and one of unknown length shows only by its first bytes that it is none.
  if (exchange.socket) return collect(exchange.socket, limit, () => declared > 0 || refuseType(exchange, unread));
  const bytes = Buffer.from(await exchange.body());
  if (bytes.length > 0) refuseType(exchange);
  if (bytes.length > limit) throw tooLarge(limit);
  return bytes;
}

const json = "application/json";

// A body that is not read to its end leaves the connection unusable for the next request.
const unread = { connection: "close" };

function refuseType(exchange: RequestContext, headers: Readonly<Record<string, string>> = {}): void {
  const type = exchange.header("content-type");
  if (type !== json && type?.split(";", 1)[0]?.trim().toLowerCase() !== json) {
    throw new Problem("unsupported_media_type", `send the body as Content-Type: ${json}`, { headers });
  }
  if ((exchange.header("content-encoding") ?? "identity") !== "identity") {
    throw new Problem("unsupported_media_type", "send the body without a Content-Encoding", { headers });
  }
}

/** What is left of a body of this size is read and dropped: closing before its end may lose the answer, to a proxy above all. */
const mostDumped = 16 * 1024 * 1024;

const tooLarge = (limit: number, isDumped = false) =>
  new Problem("body_too_large", `the body must have at most ${limit} bytes`, {
    headers: isDumped ? {} : unread,
  });

function collect(request: IncomingMessage, limit: number, begun: () => void): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on("data", (chunk: Buffer) => {
      try {
        if (size === 0) begun();
        size += chunk.length;
        if (size > limit) throw tooLarge(limit);
        chunks.push(chunk);
      } catch (problem) {
        request.pause();
        reject(problem);
      }
    });
    request.on("end", () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
    // Nobody is left to answer, and it is no fault of ours; the promise must end all the same. A connection that breaks
    // is an "error" to those alone who listen for one.
    request.on("close", () => {
      if (!request.complete) reject(new Problem("invalid_json", "the body ended too early"));
    });
  });
}

const decoder = new TextDecoder("utf-8", { fatal: true });

/** The object in a body; undefined for an empty one. */
export function parseBody(bytes: Buffer, needed: boolean): object | undefined {
  if (bytes.length === 0) {
    if (needed) throw new Problem("invalid_json", "a body is needed here: send a JSON object");
    return undefined;
  }
  let value: unknown;
  try {
    value = JSON.parse(decoder.decode(bytes));
  } catch {
    throw new Problem("invalid_json", "the body is not JSON in UTF-8");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Problem("invalid_json", "the body must be a JSON object");
  if (isDeeper(value, deepest))
    throw new Problem("invalid_json", `the body must not be nested deeper than ${deepest} levels`);
  return value;
}

function isDeeper(value: object, levels: number): boolean {
  if (levels === 0) return true;
  return Object.values(value).some((part) => typeof part === "object" && part !== null && isDeeper(part, levels - 1));
}
