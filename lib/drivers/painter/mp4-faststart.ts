/** The boxes between `from` and `to`, in order. */
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

/** The boxes in which the creation and modification times follow the version. */
const timestamped = [
  ["moov", "mvhd"],
  ["moov", "trak", "tkhd"],
  ["moov", "trak", "mdia", "mdhd"],
];

const sampleTable = ["moov", "trak", "mdia", "minf", "stbl"];

/** The list of key frames. Without it, players seek to frames that depend on others. */
function keyFrameList(file: Buffer): Buffer {
  const sizes = boxAt(file, [...sampleTable, "stsz"]).start + 12;
  const keys: number[] = [];
  let at = boxAt(file, ["mdat"]).start + 8;
  for (let frame = 1; frame <= file.readUInt32BE(sizes + 4); frame++) {
    // A frame is one NAL unit, with its type after the length. Type 5 depends on no other frame.
    if ((file.readUInt8(at + 4) & 31) === 5) keys.push(frame);
    at += file.readUInt32BE(sizes + 4 + frame * 4);
  }
  const box = Buffer.alloc(16 + keys.length * 4);
  box.writeUInt32BE(box.length, 0);
  box.write("stss", 4, "latin1");
  for (const [i, number] of [keys.length, ...keys].entries()) box.writeUInt32BE(number, 12 + i * 4);
  return box;
}

/** Appends `box` to the box at `path`, which grows, as do its parents. */
function withBox(file: Buffer, path: readonly string[], box: Buffer): Buffer {
  const { end } = boxAt(file, path);
  const bytes = Buffer.concat([file.subarray(0, end), box, file.subarray(end)]);
  for (let depth = 1; depth <= path.length; depth++) {
    const outer = boxAt(file, path.slice(0, depth));
    bytes.writeUInt32BE(outer.end - outer.start + box.length, outer.start);
  }
  return bytes;
}

/**
 * Moves the index of an MP4 before the frames ("faststart"), so a player can start before it has the whole file. Clears
 * the timestamps, so the same film has the same bytes. Drops padding, and lists the key frames, so a player can seek.
 */
export function withIndexFirst(encoded: Buffer): Uint8Array {
  const file = withBox(encoded, sampleTable, keyFrameList(encoded));
  const part = (type: string) => {
    const { start, end } = boxAt(file, [type]);
    return { start, bytes: Buffer.from(file.subarray(start, end)) };
  };
  const [fileType, frames, index] = [part("ftyp"), part("mdat"), part("moov")];
  const offset = fileType.bytes.length + index.bytes.length - frames.start;
  const { start } = boxAt(index.bytes, [...sampleTable, "stco"]);
  const count = index.bytes.readUInt32BE(start + 12);
  for (let at = start + 16; at < start + 16 + count * 4; at += 4)
    index.bytes.writeUInt32BE(index.bytes.readUInt32BE(at) + offset, at);
  for (const path of timestamped)
    index.bytes.fill(0, boxAt(index.bytes, path).start + 12, boxAt(index.bytes, path).start + 20);
  return Buffer.concat([fileType.bytes, index.bytes, frames.bytes]);
}
