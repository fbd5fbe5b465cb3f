/** The boxes that lie one behind the other from `from` to `to`: their types, and where each begins and ends. */
function* boxes(file: Buffer, from = 0, to = file.length): Generator<{ type: string; start: number; end: number }> {
  for (let start = from; start + 8 <= to; ) {
    const end = start + file.readUInt32BE(start);
    if (end < start + 8 || end > to) throw new Error(`the film's box at ${start} has an impossible length`);
    yield { type: file.toString("latin1", start + 4, start + 8), start, end };
    start = end;
  }
}

function inside(file: Buffer, path: readonly string[], from = 0, to = file.length): { start: number; end: number } {
  const [type, ...rest] = path;
  const found = [...boxes(file, from, to)].find((box) => box.type === type);
  if (!found) throw new Error(`the film has no box ${type}`);
  return rest.length === 0 ? found : inside(file, rest, found.start + 8, found.end);
}

/** Where an index says when it was made; each holds two instants behind its version. */
const dated = [
  ["moov", "mvhd"],
  ["moov", "trak", "tkhd"],
  ["moov", "trak", "mdia", "mdhd"],
];

/**
 * An MP4 whose index stands before the pictures, so that a player can begin before it has all. It does not say when it
 * was made, so that the same film has the same bytes; padding is left out.
 */
export function indexFirst(file: Buffer): Uint8Array {
  const part = (type: string) => {
    const { start, end } = inside(file, [type]);
    return { start, bytes: Buffer.from(file.subarray(start, end)) };
  };
  const [kind, pictures, index] = [part("ftyp"), part("mdat"), part("moov")];
  const moved = kind.bytes.length + index.bytes.length - pictures.start;
  const { start } = inside(index.bytes, ["moov", "trak", "mdia", "minf", "stbl", "stco"]);
  const count = index.bytes.readUInt32BE(start + 12);
  for (let at = start + 16; at < start + 16 + count * 4; at += 4)
    index.bytes.writeUInt32BE(index.bytes.readUInt32BE(at) + moved, at);
  for (const path of dated)
    index.bytes.fill(0, inside(index.bytes, path).start + 12, inside(index.bytes, path).start + 20);
  return Buffer.concat([kind.bytes, index.bytes, pictures.bytes]);
}
