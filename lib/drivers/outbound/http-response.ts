import type { IncomingMessage } from "node:http";
import { TextDecoder } from "../../kernel/web.ts";

/** The largest part of an answer that is read. */
export const maxRead = 64 * 1024;
/** An attempt stores the first KiB of its answer. */
export const maxExcerpt = 1024;

/** The first KiB of a body as text: a cut character at the end is left out, and so is NUL, which PostgreSQL refuses. */
export const excerptOf = (bytes: Uint8Array): string =>
  new TextDecoder()
    .decode(bytes.subarray(0, maxExcerpt), { stream: bytes.length > maxExcerpt })
    .replaceAll("\0", "\ufffd");

/** Milliseconds to wait by `Retry-After`, which is a number of seconds or a date; undefined where it is neither. */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000;
  const at = /^[A-Z][a-z]{2}, /.test(header) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

/**
 * Reads a body: the whole of it up to `max_bytes`, or without that limit the excerpt's bytes, and no more than `maxRead`.
 * Calls `done` at its end, with a reason if the body is incomplete; returns the bytes read so far.
 */
export function readBody(
  response: IncomingMessage,
  max_bytes: number | undefined,
  done: (incomplete?: string) => void,
): () => Buffer {
  const [limit, stored] = max_bytes === undefined ? [maxRead, maxExcerpt + 1] : [max_bytes, max_bytes];
  const chunks: Buffer[] = [];
  let size = 0;
  response.on("data", (chunk: Buffer) => {
    if (size < stored) chunks.push(chunk.subarray(0, stored - size));
    size += chunk.length;
    if (max_bytes === undefined ? size >= limit : size > limit) done(`over ${limit} bytes`);
  });
  response.on("end", () => done());
  response.on("error", () => done("connection reset"));
  return () => Buffer.concat(chunks);
}
