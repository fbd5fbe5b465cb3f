/** The most that one frame may hold. An engine splits lines far below this. */
const longestFrame = 16 * 1024 * 1024;

/**
 * Splits the log of a container into the chunks of its two streams: eight bytes of header, with the stream and the
 * length, come before each.
 */
export function createFrameReader(take: (stream: "stdout" | "stderr", chunk: Buffer) => void) {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk: Buffer): void => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    while (rest.length >= 8) {
      const size = Math.min(rest.readUInt32BE(4), longestFrame);
      if (rest.length < 8 + size) return;
      take(rest[0] === 2 ? "stderr" : "stdout", rest.subarray(8, 8 + size));
      rest = rest.subarray(8 + size);
    }
  };
}
