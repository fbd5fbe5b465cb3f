import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { inflateSync } from "node:zlib";
import decodeJpeg, { init as initJpeg } from "@jsquash/jpeg/decode.js";
import decodeWebp, { init as initWebp } from "@jsquash/webp/decode.js";

export interface Picture {
  readonly width: number;
  readonly height: number;
  /** RGB, or RGBA with four channels. */
  readonly channels: 3 | 4;
  readonly data: Uint8Array | Uint8ClampedArray;
}

// The decoders return an instance of the browser's class.
Object.assign(globalThis, {
  ImageData: class {
    readonly data: Uint8ClampedArray;
    readonly width: number;
    readonly height: number;
    constructor(data: Uint8ClampedArray, width: number, height: number) {
      this.data = data;
      this.width = width;
      this.height = height;
    }
  },
});
const codec = async (file: string) => WebAssembly.compile(await readFile(fileURLToPath(import.meta.resolve(file))));
await initJpeg(await codec("@jsquash/jpeg/codec/dec/mozjpeg_dec.wasm"));
await initWebp(await codec("@jsquash/webp/codec/dec/webp_dec.wasm"));

/** Decodes a picture independently of its encoder. */
export async function decode(type: string, bytes: Uint8Array): Promise<Picture> {
  if (type === "image/png") return decodePng(Buffer.from(bytes));
  const { buffer } = new Uint8Array(bytes);
  const { width, height, data } = await (type === "image/jpeg" ? decodeJpeg(buffer) : decodeWebp(buffer));
  return { width, height, data, channels: 4 };
}

/** Decodes an 8-bit PNG without alpha channel and checks every chunk's checksum. */
function decodePng(file: Buffer): Picture {
  if (file.toString("latin1", 0, 8) !== "\x89PNG\r\n\x1a\n") throw new Error("not a PNG");
  const chunks = new Map<string, Buffer>();
  for (let at = 8; at < file.length; ) {
    const end = at + 8 + file.readUInt32BE(at);
    if (file.readUInt32BE(end) !== crc(file.subarray(at + 4, end))) throw new Error("a chunk's checksum is wrong");
    chunks.set(file.toString("latin1", at + 4, at + 8), file.subarray(at + 8, end));
    at = end + 4;
  }
  const header = chunks.get("IHDR") ?? Buffer.alloc(0);
  if (!chunks.has("IEND") || header.readUInt16BE(8) !== 0x0802) throw new Error("not a PNG of three channels");
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const rows = inflateSync(chunks.get("IDAT") ?? Buffer.alloc(0));
  const stride = width * 3;
  if (rows.length !== height * (stride + 1)) throw new Error("the rows do not fit the size");
  const data = new Uint8Array(height * stride);
  for (let y = 0; y < height; y++) {
    if (rows[y * (stride + 1)] !== 1) throw new Error("a row is not filtered as differences to the left");
    for (let x = 0; x < stride; x++) {
      const left = x < 3 ? 0 : (data[y * stride + x - 3] ?? 0);
      data[y * stride + x] = (rows[y * (stride + 1) + 1 + x] ?? 0) + left;
    }
  }
  return { width, height, data, channels: 3 };
}

/** The CRC of PNG, bit by bit as in its specification. */
function crc(bytes: Uint8Array): number {
  let sum = 0xffff_ffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0xedb8_8320 : sum >>> 1;
  }
  return (sum ^ 0xffff_ffff) >>> 0;
}

/** The standard deviation of the pixels' brightness; 0 for a single flat colour. */
export function contrast({ data, channels }: Picture): number {
  const greens = Array.from({ length: data.length / channels }, (_, i) => data[i * channels + 1] ?? 0);
  const mean = greens.reduce((sum, one) => sum + one, 0) / greens.length;
  return Math.sqrt(greens.reduce((sum, one) => sum + (one - mean) ** 2, 0) / greens.length);
}

export interface Film {
  readonly width: number;
  readonly height: number;
  readonly seconds: number;
  /** The size of each frame, in bytes. */
  readonly frames: readonly number[];
  /** The frame numbers to which a player can seek, from 1. */
  readonly keyFrames: readonly number[];
  /** The types of the top-level boxes, in order. */
  readonly boxes: readonly string[];
}

/** Parses an MP4 with one H.264 track. */
export function parseFilm(bytes: Uint8Array): Film {
  const file = Buffer.from(bytes);
  const boxes = (from: number, to: number) => {
    const found = new Map<string, { from: number; to: number }>();
    for (let at = from; at < to; at += file.readUInt32BE(at)) {
      if (file.readUInt32BE(at) < 8) throw new Error("a box without a length");
      found.set(file.toString("latin1", at + 4, at + 8), { from: at + 8, to: at + file.readUInt32BE(at) });
    }
    return found;
  };
  const open = (path: string) =>
    path.split(" ").reduce(
      ({ from, to }, type) => {
        const box = boxes(from, to).get(type);
        if (!box || box.to > file.length) throw new Error(`no whole box ${type}`);
        return box;
      },
      { from: 0, to: file.length },
    ).from;
  const stbl = "moov trak mdia minf stbl";
  const [track, media, sizes, chunks, keys] = [
    ...["moov trak tkhd", "moov trak mdia mdhd"],
    ...[`${stbl} stsz`, `${stbl} stco`, `${stbl} stss`],
  ].map(open);
  const frames = Array.from({ length: file.readUInt32BE((sizes ?? 0) + 8) }, (_, i) =>
    file.readUInt32BE((sizes ?? 0) + 12 + i * 4),
  );
  // Each frame must start at its offset in the index and contain its first unit's length there.
  const first = file.readUInt32BE((chunks ?? 0) + 8);
  if (file.readUInt32BE(first) + 4 > (frames[0] ?? 0)) throw new Error("the index does not lead to the first frame");
  return {
    width: file.readUInt32BE((track ?? 0) + 76) >>> 16,
    height: file.readUInt32BE((track ?? 0) + 80) >>> 16,
    seconds: file.readUInt32BE((media ?? 0) + 16) / file.readUInt32BE((media ?? 0) + 12),
    frames,
    keyFrames: Array.from({ length: file.readUInt32BE((keys ?? 0) + 4) }, (_, i) =>
      file.readUInt32BE((keys ?? 0) + 8 + i * 4),
    ),
    boxes: [...boxes(0, file.length).keys()],
  };
}

/** ffprobe's result for a film; undefined if ffprobe is missing. */
export function probe(path: string): string | undefined {
  const fields = "stream=codec_name,pix_fmt,width,height,r_frame_rate,nb_read_frames";
  const words = ["-v", "error", "-count_frames", "-show_entries", fields, "-of", "csv=p=0", path];
  const { stdout, stderr, error } = spawnSync("ffprobe", words, { encoding: "utf8" });
  return error ? undefined : `${stdout.trim()}${stderr}`;
}
