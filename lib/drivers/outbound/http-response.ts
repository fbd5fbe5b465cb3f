import type { IncomingMessage } from "node:http";
import { TextDecoder } from "../../kernel/node/web.ts";

/** The most bytes of a response that are read. */
export const maxRead = 64 * 1024;
/** An attempt stores the first KiB of its response. */
export const maxExcerpt = 1024;

/** The first KiB of a body as text. It omits a cut character at the end, and NUL, which PostgreSQL refuses. */
export const excerptOf = (bytes: Uint8Array): string =>
  new TextDecoder()
    .decode(bytes.subarray(0, maxExcerpt), { stream: bytes.length > maxExcerpt })
    .replaceAll("\0", "\ufffd");

/** The wait from `Retry-After`, a number of seconds or a date, in milliseconds; undefined if it is neither. */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000;
  const at = /^[A-Z][a-z]{2}, /.test(header) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

/**
 * Reads a body: whole up to `max_bytes`, or without that limit only the excerpt's bytes, and at most `maxRead`. Calls
 * `done` at the end, with a reason if the body is incomplete. Returns the bytes read so far.
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
