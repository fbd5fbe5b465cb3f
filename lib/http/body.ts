import type { IncomingMessage } from "node:http";
import { Problem } from "../kernel/errors.ts";
import { maxLevels } from "../kernel/limits.ts";
import { TextDecoder } from "../kernel/node/web.ts";
import type { RequestContext } from "./request-context.ts";

/** In bytes. The work on a larger body waits for the turn of its client. */
export const largeBody = 4096;

/** Reads a body of at most `limit` bytes; empty if none was sent. Rejects with 415 for other types, then with 413. */
export async function readBody(request: RequestContext, limit: number): Promise<Buffer> {
  const declared = Number(request.header("content-length") ?? "0");
  if (declared > 0) refuseType(request);
  if (declared > limit) throw tooLarge(limit, declared <= maxDumped);
  // An empty body needs no type. If the length is unknown, the first bytes show that there is a body.
  if (request.incoming) return collect(request.incoming, limit, () => declared > 0 || refuseType(request, unread));
  const bytes = Buffer.from(await request.body());
  if (bytes.length > 0) refuseType(request);
  if (bytes.length > limit) throw tooLarge(limit);
  return bytes;
}

const json = "application/json";

/** A connection cannot take another request after a body that was not read to its end. */
const unread = { connection: "close" };

function refuseType(request: RequestContext, headers: Readonly<Record<string, string>> = {}): void {
  const type = request.header("content-type");
  if (type !== json && type?.split(";", 1)[0]?.trim().toLowerCase() !== json) {
    throw new Problem("unsupported_media_type", `send the body as Content-Type: ${json}`, { headers });
  }
  if ((request.header("content-encoding") ?? "identity") !== "identity") {
    throw new Problem("unsupported_media_type", "send the body without a Content-Encoding", { headers });
  }
}

/** Up to this size, Node reads and drops the rest of a body. Closing early may lose the response. */
const maxDumped = 16 * 1024 * 1024;

const tooLarge = (limit: number, isDumped = false) =>
  new Problem("body_too_large", `the body must have at most ${limit} bytes`, {
    headers: isDumped ? {} : unread,
  });

/** Calls `checkType`, which may throw, at the first bytes. */
function collect(incoming: IncomingMessage, limit: number, checkType: () => void): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    incoming.on("data", (chunk: Buffer) => {
      try {
        if (size === 0) checkType();
        size += chunk.length;
        if (size > limit) throw tooLarge(limit);
        chunks.push(chunk);
      } catch (problem) {
        incoming.pause();
        reject(problem);
      }
    });
    incoming.on("end", () => resolve(Buffer.concat(chunks)));
    // The promise has to settle, although no client is left. Node emits no "error" without a listener, and "close" also
    // after a complete body.
    const endEarly = () => {
      if (!incoming.readableEnded) reject(new Problem("invalid_json", "the body ended too early"));
    };
    // The client may have disconnected while its key was looked up.
    if (incoming.destroyed) endEarly();
    incoming.on("close", endEarly);
  });
}

const decoder = new TextDecoder("utf-8", { fatal: true });

/** The object in a body; undefined if it is empty. Throws `invalid_json`, also if it is empty but `needed`. */
export function parseBody(bytes: Buffer, needed: boolean): object | undefined {
  if (bytes.length === 0) {
    if (needed) throw new Problem("invalid_json", "the body is missing: send a JSON object");
    return undefined;
  }
  if (isDeeper(bytes, maxLevels))
    throw new Problem("invalid_json", `the body must not be nested deeper than ${maxLevels} levels`);
  let value: unknown;
  try {
    value = JSON.parse(decoder.decode(bytes));
  } catch {
    throw new Problem("invalid_json", "the body is not valid JSON in UTF-8");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Problem("invalid_json", "the body must be a JSON object");
  return value;
}

const [quote, backslash, opening, closing] = [0x22, 0x5c, 0x7b, 0x7d];
/** The bit that turns a bracket into a brace. It turns no other character into one. */
const brace = 0x20;

/**
 * Whether JSON is nested deeper than `levels`. Scans the bytes, because a deep body is slow to parse. In UTF-8, no byte of
 * a multi-byte character equals one of these characters. In invalid JSON the depth is right up to the first mistake.
 */
function isDeeper(bytes: Uint8Array, levels: number): boolean {
  let depth = 0;
  let inString = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] as number;
    if (byte === quote) inString = !inString;
    else if (byte === backslash) i += 1;
    else if (inString) continue;
    else if ((byte | brace) === opening) {
      depth += 1;
      if (depth > levels) return true;
    } else if ((byte | brace) === closing) depth -= 1;
  }
  return false;
}
