import type { IndexedPicture } from "./indexed-picture.ts";
import { blueOf, lumaOf, redOf } from "./yuv.ts";

type Yuv = readonly [luma: number, blue: number, red: number];

/** Writes bits into a buffer that grows. */
class BitWriter {
  #bytes = Buffer.alloc(1 << 16);
  #length = 0;
  #byte = 0;
  #bits = 0;

  /** The `count` lowest bits of a value, the highest first. */
  u(count: number, value: number): void {
    for (let i = count - 1; i >= 0; i--) {
      this.#byte = (this.#byte << 1) | ((value >>> i) & 1);
      if (++this.#bits < 8) continue;
      this.#reserve(1)[this.#length++] = this.#byte;
      this.#byte = this.#bits = 0;
    }
  }

  /** Exponential Golomb codes, as most numbers of H.264 are written. */
  ue(...values: number[]): void {
    for (const value of values) {
      const zeros = 31 - Math.clz32(value + 1);
      this.u(zeros, 0);
      this.u(zeros + 1, value + 1);
    }
  }

  /** Zeros up to the next byte, then whole bytes: `write` gets the buffer and where they begin. */
  raw(count: number, write: (to: Buffer, at: number) => void): void {
    this.align();
    write(this.#reserve(count), this.#length);
    this.#length += count;
  }

  align(): void {
    if (this.#bits > 0) this.u(8 - this.#bits, 0);
  }

  /** A unit of the stream. Two zeros before a byte of 3 or less would look like its end, so a 3 is put between. */
  unit(type: number): Buffer {
    this.u(1, 1);
    this.align();
    const from = this.#bytes.subarray(0, this.#length);
    const unit = Buffer.alloc(Math.ceil(this.#length * 1.5) + 1, type);
    let [to, zeros] = [1, 0];
    for (const byte of from) {
      if (zeros === 2 && byte <= 3) {
        unit[to++] = 3;
        zeros = 0;
      }
      unit[to++] = byte;
      zeros = byte === 0 ? zeros + 1 : 0;
    }
    return unit.subarray(0, to);
  }

  #reserve(count: number): Buffer {
    if (this.#length + count > this.#bytes.length)
      this.#bytes = Buffer.concat([this.#bytes, Buffer.alloc(this.#bytes.length + count)]);
    return this.#bytes;
  }
}

/** A film as units of H.264: its two sets of parameters, and a unit a frame. */
export interface H264 {
  readonly sps: Buffer;
  readonly pps: Buffer;
  readonly frames: readonly Buffer[];
}

/** The least level for a number of blocks at 24 frames a second, times ten. */
const levelOf = (blocks: number) => (blocks <= 1620 ? 30 : blocks <= 3600 ? 31 : blocks <= 8192 ? 40 : 51);

function parameters(across: number, down: number, width: number, height: number): { sps: Buffer; pps: Buffer } {
  const [sps, pps] = [new BitWriter(), new BitWriter()];
  const [right, below] = [(across * 16 - width) / 2, (down * 16 - height) / 2];
  // Constrained baseline; frames in order, each from the one before it.
  for (const byte of [66, 0xc0, levelOf(across * down)]) sps.u(8, byte);
  sps.ue(0, 4, 2, 1);
  sps.u(1, 0);
  sps.ue(across - 1, down - 1);
  sps.u(3, 0b111);
  sps.ue(0, right, 0, below);
  sps.u(1, 0);
  pps.ue(0, 0);
  pps.u(2, 0);
  pps.ue(0, 0, 0);
  pps.u(3, 0);
  pps.ue(0, 0, 0);
  pps.u(3, 0b100);
  return { sps: sps.unit(0x67), pps: pps.unit(0x68) };
}

/**
 * A film of a drawing without loss, cheap because nothing is transformed: a block of 16 by 16 pixels is skipped where it
 * stands as in the frame before, else continued from its left or upper neighbour, or its samples are written as they are.
 * `draw` changes the picture to the frame of a number.
 */
export function h264(
  { pixels, stride, palette }: IndexedPicture,
  width: number,
  height: number,
  count: number,
  draw: (frame: number) => void,
): H264 {
  const [across, down] = [stride / 16, pixels.length / stride / 16];
  const samples = palette.map((rgb) => [lumaOf, blueOf, redOf].map((of) => Math.round(of(...rgb))) as unknown as Yuv);
  const shown = new Uint8Array(pixels.length);
  const frames = Array.from({ length: count }, (_, frame) => {
    draw(frame);
    const out = new BitWriter();
    const isKey = frame === 0;
    out.ue(0, isKey ? 7 : 5, 0);
    out.u(8, frame & 255);
    if (isKey) out.ue(0);
    out.u(isKey ? 2 : 3, 0);
    out.ue(0, 1);
    writeBlocks(out, isKey ? undefined : shown, pixels, stride, samples);
    shown.set(pixels);
    return out.unit(isKey ? 0x65 : 0x41);
  });
  return { ...parameters(across, down, width, height), frames };
}

function writeBlocks(
  out: BitWriter,
  before: Uint8Array | undefined,
  pixels: Uint8Array,
  stride: number,
  samples: readonly Yuv[],
): void {
  const across = stride / 16;
  // Whether a block has samples of its own: it decides how its neighbours write that they have no coefficients.
  const written = new Uint8Array(pixels.length / 256);
  let skipped = 0;
  for (let block = 0; block < written.length; block++) {
    const [column, row] = [block % across, Math.floor(block / across)];
    const at = row * 16 * stride + column * 16;
    // Most rows of blocks stand still, and comparing them whole takes a tenth of the time.
    const row16 = [at, at + 16 * stride] as const;
    if (before && column === 0 && Buffer.compare(pixels.subarray(...row16), before.subarray(...row16)) === 0) {
      skipped += across;
      block += across - 1;
      continue;
    }
    if (before && isSame(pixels, before, at, stride)) {
      skipped++;
      continue;
    }
    if (before) out.ue(skipped);
    skipped = 0;
    const first = before ? 5 : 0;
    const isRow = column > 0 && continues(pixels, at, 1, stride);
    if (!isRow && !(row > 0 && continues(pixels, at, stride, 1))) {
      written[block] = 1;
      out.ue(first + 25);
      out.raw(384, (to, from) => writeSamples(to, from, pixels, at, stride, samples));
      continue;
    }
    out.ue(first + (isRow ? 2 : 1), isRow ? 1 : 2, 0);
    const near =
      (column > 0 ? (written[block - 1] as number) : 0) + (row > 0 ? (written[block - across] as number) : 0);
    if (near > 0) out.u(6, 0b11);
    else out.u(1, 1);
  }
  if (skipped > 0) out.ue(skipped);
}

function isSame(pixels: Uint8Array, before: Uint8Array, at: number, stride: number): boolean {
  for (let row = at; row < at + 16 * stride; row += stride)
    for (let i = row; i < row + 16; i++) if (pixels[i] !== before[i]) return false;
  return true;
}

/** Whether all lines of a block continue the pixel before them; `step` is the way along a line, `next` to the next one. */
function continues(pixels: Uint8Array, at: number, step: number, next: number): boolean {
  for (let line = at; line < at + 16 * next; line += next)
    for (let i = line; i < line + 16 * step; i += step) if (pixels[i] !== pixels[line - step]) return false;
  return true;
}

/** The colour of four pixels is that of the lower right one, so a block that continues another does so in colour too. */
function writeSamples(
  to: Buffer,
  from: number,
  pixels: Uint8Array,
  at: number,
  stride: number,
  samples: readonly Yuv[],
): void {
  for (let i = 0; i < 256; i++) {
    const [luma, blue, red] = samples[pixels[at + (i >> 4) * stride + (i & 15)] as number] as Yuv;
    to[from + i] = luma;
    if (!(i & 1) || !(i & 16)) continue;
    const chroma = from + 256 + (i >> 5) * 8 + ((i & 15) >> 1);
    to[chroma] = blue;
    to[chroma + 64] = red;
  }
}
