/** The largest accepted frame. Engines split lines far below this size. */
const maxFrame = 16 * 1024 * 1024;

/** Splits a container log into the chunks of its two streams: a header names the stream and the length. */
export function createFrameReader(take: (stream: "stdout" | "stderr", chunk: Buffer) => void) {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk: Buffer): void => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    while (rest.length >= 8) {
      const size = Math.min(rest.readUInt32BE(4), maxFrame);
      if (rest.length < 8 + size) return;
      take(rest[0] === 2 ? "stderr" : "stdout", rest.subarray(8, 8 + size));
      rest = rest.subarray(8 + size);
    }
  };
}
