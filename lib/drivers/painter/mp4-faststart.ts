/** The boxes between `from` and `to`, one after the other. */
function* boxes(file: Buffer, from = 0, to = file.length): Generator<{ type: string; start: number; end: number }> {
  for (let start = from; start + 8 <= to; ) {
    const end = start + file.readUInt32BE(start);
    if (end < start + 8 || end > to) throw new Error(`the film's box at ${start} has an impossible length`);
    yield { type: file.toString("latin1", start + 4, start + 8), start, end };
    start = end;
  }
}

function boxAt(file: Buffer, path: readonly string[], from = 0, to = file.length): { start: number; end: number } {
  const [type, ...rest] = path;
  const found = [...boxes(file, from, to)].find((box) => box.type === type);
  if (!found) throw new Error(`the film has no box ${type}`);
  return rest.length === 0 ? found : boxAt(file, rest, found.start + 8, found.end);
}

/** The boxes with a creation and a modification time, after the version. */
const timestamped = [
  ["moov", "mvhd"],
  ["moov", "trak", "tkhd"],
  ["moov", "trak", "mdia", "mdhd"],
];

/**
 * Moves the index of an MP4 before the frames ("faststart"), so a player can start before it has the whole file. Clears
 * the timestamps, so the same film has the same bytes, and drops padding.
 */
export function withIndexFirst(file: Buffer): Uint8Array {
  const part = (type: string) => {
    const { start, end } = boxAt(file, [type]);
    return { start, bytes: Buffer.from(file.subarray(start, end)) };
  };
  const [fileType, frames, index] = [part("ftyp"), part("mdat"), part("moov")];
  const offset = fileType.bytes.length + index.bytes.length - frames.start;
  const { start } = boxAt(index.bytes, ["moov", "trak", "mdia", "minf", "stbl", "stco"]);
  const count = index.bytes.readUInt32BE(start + 12);
  for (let at = start + 16; at < start + 16 + count * 4; at += 4)
    index.bytes.writeUInt32BE(index.bytes.readUInt32BE(at) + offset, at);
  for (const path of timestamped)
    index.bytes.fill(0, boxAt(index.bytes, path).start + 12, boxAt(index.bytes, path).start + 20);
  return Buffer.concat([fileType.bytes, index.bytes, frames.bytes]);
}
