import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { Problem } from "../../kernel/errors.ts";
import { byteSizeText } from "../../kernel/text/byte-size.ts";

/** The most that a fetch may send, decompressed: 160,000 commits. Git's own limit, 10 MiB, is for compressed bytes. */
const max_bytes = 8 * 1024 * 1024;

const tooLarge = () =>
  new Problem("body_too_large", `a fetch may send at most ${byteSizeText(max_bytes)}, decompressed`);
const notZipped = () =>
  new Problem("unsupported_media_type", "the body must be gzip, which its Content-Encoding names, or have no encoding");

/** Decompresses the body of a fetch. If it is too large or not gzip, reads all of it and then throws. */
export async function* fetchBody(
  body: AsyncIterable<Uint8Array>,
  encoding: string | undefined,
): AsyncGenerator<Uint8Array, void> {
  const isZipped = /^(x-)?gzip$/i.test(encoding ?? "");
  let bytes = 0;
  try {
    for await (const chunk of isZipped ? pipeline(unclosed(body), createGunzip(), () => {}) : unclosed(body)) {
      bytes += chunk.length;
      if (bytes > max_bytes) throw tooLarge();
      yield chunk;
    }
  } catch (error) {
    const isWrong = String((error as NodeJS.ErrnoException).code).startsWith("Z_");
    if (!isWrong && !(error instanceof Problem)) throw error;
    for await (const _ of body);
    throw isWrong ? notZipped() : error;
  }
}

/** Leaves the rest of the body readable when its reader stops. */
async function* unclosed(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const chunks = body[Symbol.asyncIterator]();
  for (let next = await chunks.next(); !next.done; next = await chunks.next()) yield next.value;
}
