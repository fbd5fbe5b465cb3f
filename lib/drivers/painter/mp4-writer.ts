import type { H264 } from "./h264-lossless.ts";

const u16 = (...values: number[]) => {
  const bytes = Buffer.alloc(values.length * 2);
  for (const [i, value] of values.entries()) bytes.writeUInt16BE(value, i * 2);
  return bytes;
};
const u32 = (...values: number[]) => {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [i, value] of values.entries()) bytes.writeUInt32BE(value, i * 4);
  return bytes;
};
const box = (type: string, ...parts: Buffer[]): Buffer => {
  const body = Buffer.concat(parts);
  return Buffer.concat([u32(body.length + 8), Buffer.from(type, "latin1"), body]);
};
const text = (value: string) => Buffer.from(value, "latin1");
/** No rotation, and no scale. */
const upright = u32(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000);

/**
 * An MP4 without creation times, so that the same film has the same bytes. Its index comes first, so that players can start
 * before they have the whole file.
 */
export function mp4(film: H264 & { width: number; height: number; framesPerSecond: number }): Uint8Array {
  const frames = film.frames.map((unit) => Buffer.concat([u32(unit.length), unit]));
  const fileType = box("ftyp", text("isom"), u32(0x200), text("isomiso2avc1mp41"));
  const index = (offset: number) => indexOf(film, frames, offset);
  const start = fileType.length + index(0).length + 8;
  return Buffer.concat([fileType, index(start), box("mdat", ...frames)]);
}

function indexOf(
  { sps, pps, width, height, framesPerSecond }: Parameters<typeof mp4>[0],
  frames: readonly Buffer[],
  offset: number,
): Buffer {
  const [scale, length] = [framesPerSecond * 1000, frames.length * 1000];
  const codec = box(
    "avcC",
    Buffer.of(1, ...sps.subarray(1, 4), 0xff, 0xe1),
    u16(sps.length),
    sps,
    Buffer.of(1),
    u16(pps.length),
    pps,
  );
  const format = box(
    "avc1",
    u32(0),
    u16(0, 1),
    u32(0, 0, 0, 0),
    u16(width, height),
    u32(0x480000, 0x480000, 0),
    u16(1),
    Buffer.alloc(32),
    u16(24, 0xffff),
    codec,
  );
  const table = box(
    "stbl",
    box("stsd", u32(0, 1), format),
    box("stts", u32(0, 1, frames.length, 1000)),
    box("stss", u32(0, 1, 1)),
    box("stsc", u32(0, 1, 1, frames.length, 1)),
    box("stsz", u32(0, 0, frames.length, ...frames.map((frame) => frame.length))),
    box("stco", u32(0, 1, offset)),
  );
  const media = box(
    "mdia",
    box("mdhd", u32(0, 0, 0, scale, length, 0x55c40000)),
    box("hdlr", u32(0, 0), text("vide"), u32(0, 0, 0), Buffer.alloc(1)),
    box("minf", box("vmhd", u32(1, 0, 0)), box("dinf", box("dref", u32(0, 1), box("url ", u32(1)))), table),
  );
  return box(
    "moov",
    box("mvhd", u32(0, 0, 0, scale, length, 0x10000), u16(0x100), Buffer.alloc(10), upright, Buffer.alloc(24), u32(2)),
    box(
      "trak",
      box("tkhd", u32(3, 0, 0, 1, 0, length, 0, 0), u16(0, 0, 0, 0), upright, u32(width << 16, height << 16)),
      media,
    ),
  );
}
