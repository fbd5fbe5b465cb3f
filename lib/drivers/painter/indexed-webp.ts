import type { IndexedPicture } from "./indexed-picture.ts";

/** Writes bits into a buffer that grows, the lowest first. */
class BitWriter {
  #bytes = Buffer.alloc(1 << 16);
  #length = 0;
  #held = 0;
  #bits = 0;

  /** The `count` lowest bits of a value, up to 16. */
  u(count: number, value: number): void {
    this.#held |= value << this.#bits;
    this.#bits += count;
    if (this.#length + 4 > this.#bytes.length) this.#bytes = Buffer.concat([this.#bytes, Buffer.alloc(this.#length)]);
    for (; this.#bits >= 8; this.#bits -= 8) {
      this.#bytes[this.#length++] = this.#held & 255;
      this.#held >>>= 8;
    }
  }

  /** All bytes, filled with zeros to an even number, as RIFF wants it. */
  end(): Buffer {
    this.u(7, 0);
    return this.#bytes.subarray(0, this.#length + (this.#length % 2));
  }
}

const literals = 256;
const lengthCodes = 24;
/** In the second half of the codes the lengths of copies, which are most of what is written. */
const lengthsOfGreen = Uint8Array.from({ length: literals + lengthCodes }, (_, symbol) => {
  if (symbol < literals) return symbol < 128 ? 8 : 0;
  return symbol < literals + 8 ? 5 : 6;
});
const lengthsOfBytes = new Uint8Array(256).fill(8);

/** The bits of each symbol, by the lengths of their codes: shorter ones first, and the highest bit of each first. */
function codesOf(lengths: Uint8Array): Uint16Array {
  const codes = new Uint16Array(lengths.length);
  let next = 0;
  for (let length = 1; length <= 8; length++) {
    for (const [symbol, own] of lengths.entries())
      if (own === length) {
        let turned = 0;
        for (let bit = 0; bit < length; bit++) turned |= ((next >>> bit) & 1) << (length - 1 - bit);
        codes[symbol] = turned;
        next++;
      }
    next <<= 1;
  }
  return codes;
}

const codesOfGreen = codesOf(lengthsOfGreen);
const codesOfBytes = codesOf(lengthsOfBytes);

/** The order in which the format asks for the lengths of the code that the lengths themselves are written with. */
const orderOfLengths = [17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8];
/** That code: two bits for each length that occurs. */
const codeOfLength: Readonly<Record<number, number>> = { 0: 0b00, 5: 0b10, 6: 0b01, 8: 0b11 };

function writeCode(to: BitWriter, lengths: Uint8Array, alphabet = lengths.length): void {
  to.u(1, 0);
  to.u(4, orderOfLengths.length - 4);
  for (const length of orderOfLengths) to.u(3, length in codeOfLength ? 2 : 0);
  to.u(1, 0);
  for (let symbol = 0; symbol < alphabet; symbol++) to.u(2, codeOfLength[lengths[symbol] ?? 0] as number);
}

/** A code of one symbol, 0, that takes no bits; or of 0 and another symbol, that takes one. */
function writeSmallCode(to: BitWriter, other?: number): void {
  to.u(1, 1);
  to.u(1, other === undefined ? 0 : 1);
  to.u(2, 0);
  if (other !== undefined) to.u(8, other);
}

/** The colours, each as its difference to the one before. */
function writePalette(to: BitWriter, palette: IndexedPicture["palette"]): void {
  to.u(1, 0);
  writeCode(to, lengthsOfBytes, literals + lengthCodes);
  writeCode(to, lengthsOfBytes);
  writeCode(to, lengthsOfBytes);
  writeSmallCode(to, 255);
  writeSmallCode(to);
  let before: readonly number[] = [0, 0, 0];
  for (const [i, colour] of palette.entries()) {
    const [red = 0, green = 0, blue = 0] = colour.map((value, channel) => (value - (before[channel] ?? 0)) & 255);
    for (const value of [green, red, blue]) to.u(8, codesOfBytes[value] as number);
    to.u(1, i === 0 ? 1 : 0);
    before = colour;
  }
}

const [above, left] = [0, 1] as const;
const longest = 4096;

/** Repeats the pixels above, or the one on the left. */
function writeCopy(to: BitWriter, length: number, from: typeof above | typeof left): void {
  for (let rest = length; rest > 0; rest -= longest) {
    const value = Math.min(rest, longest) - 1;
    const extra = value < 4 ? 0 : 30 - Math.clz32(value);
    const symbol = literals + (value < 4 ? value : 2 * extra + (value >>> extra));
    to.u(lengthsOfGreen[symbol] as number, codesOfGreen[symbol] as number);
    to.u(extra, value & ((1 << extra) - 1));
    to.u(1, from);
  }
}

function writeRow(to: BitWriter, pixels: Uint8Array, from: number, width: number): void {
  const end = from + width;
  for (let at = from; at < end; ) {
    let same = at;
    while (same < end && pixels[same] === pixels[same - width]) same++;
    if (same - at >= 3) {
      writeCopy(to, same - at, above);
      at = same;
      continue;
    }
    const index = pixels[at++] as number;
    to.u(8, codesOfGreen[index] as number);
    let run = at;
    while (run < end && pixels[run] === index) run++;
    if (run - at < 3) continue;
    writeCopy(to, run - at, left);
    at = run;
  }
}

/** A picture of at most 128 colours as a lossless WebP file. Equal rows are one copy, so most of it is written at once. */
export function indexedWebp({ pixels, stride: width, palette }: IndexedPicture): Uint8Array {
  const to = new BitWriter();
  const height = pixels.length / width;
  to.u(8, 0x2f);
  to.u(14, width - 1);
  to.u(14, height - 1);
  to.u(4, 0);
  // One transform, the palette, whose numbers stand in the channel green.
  to.u(3, 0b111);
  to.u(8, palette.length - 1);
  writePalette(to, palette);
  to.u(1, 0);
  to.u(2, 0);
  writeCode(to, lengthsOfGreen);
  for (const _ of ["red", "blue", "opacity"]) writeSmallCode(to);
  writeSmallCode(to, 1);

  const rows = Buffer.from(pixels.buffer, pixels.byteOffset, pixels.length);
  let equal = 0;
  for (let at = 0; at < pixels.length; at += width) {
    if (at > 0 && rows.compare(rows, at - width, at, at, at + width) === 0) {
      equal += width;
      continue;
    }
    writeCopy(to, equal, above);
    equal = 0;
    writeRow(to, pixels, at, width);
  }
  writeCopy(to, equal, above);

  const data = to.end();
  const header = Buffer.from("RIFF    WEBPVP8L    ", "latin1");
  header.writeUInt32LE(data.length + 12, 4);
  header.writeUInt32LE(data.length, 16);
  return Buffer.concat([header, data]);
}
