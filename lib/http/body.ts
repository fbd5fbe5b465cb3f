import type { IncomingMessage } from "node:http";
import { Problem } from "../kernel/errors.ts";
import type { Exchange } from "./exchange.ts";

/** CONTRACT section 1: "nested deeper than 32 (32 levels pass)". */
const deepest = 32;

/** The bytes of a body, once it is known to be JSON and within the limit. Empty where none was sent. */
export async function readBody(exchange: Exchange, limit: number): Promise<Buffer> {
  const declared = Number(exchange.header("content-length") ?? "0");
  if (declared > 0 || exchange.header("transfer-encoding") !== undefined) refuseType(exchange);
  if (declared > limit) throw tooLarge(limit);
  const bytes = exchange.socket
    ? await collect(exchange.socket, limit)
    : Buffer.from(await exchange.event.req.arrayBuffer());
  if (bytes.length > limit) throw tooLarge(limit);
  if (bytes.length > 0) refuseType(exchange);
  return bytes;
}

function refuseType(exchange: Exchange): void {
  const type = exchange.header("content-type")?.split(";", 1)[0]?.trim().toLowerCase();
  if (type !== "application/json")
    throw new Problem("unsupported_media_type", "send the body as Content-Type: application/json");
  if ((exchange.header("content-encoding") ?? "identity") !== "identity") {
    throw new Problem("unsupported_media_type", "send the body without a Content-Encoding");
  }
}

// A body that was not read to its end leaves the connection unusable for the next request.
const tooLarge = (limit: number) =>
  new Problem("body_too_large", `the body must have at most ${limit} bytes`, {
    headers: { connection: "close" },
  });

function collect(request: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= limit) chunks.push(chunk);
      else {
        request.pause();
        reject(tooLarge(limit));
      }
    });
    request.on("end", () => resolve(Buffer.concat(chunks)));
    request.on("error", reject);
    // Nobody is left to answer; the promise must end all the same.
    request.on("close", () => reject(new Problem("invalid_json", "the body ended too early")));
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

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((part) => isDeeper(part, levels - 1));
}
