import type { IndexedPicture, Rgb } from "./indexed-picture.ts";

/** Places of a block's values, from its mean to the finest detail: along each diagonal, up and down in turn. */
const zigzag = Array.from({ length: 64 }, (_, place) => {
  const [down, across] = [place >> 3, place & 7];
  const diagonal = down + across;
  return { place, order: diagonal * 8 + (diagonal % 2 ? down : across) };
})
  .sort((one, other) => one.order - other.order)
  .map(({ place }) => place);

/** What all values are divided by. */
const step = 10;

/** A prefix code: the symbols of each length from 1 to 16 bits, in order. */
type PrefixCode = readonly (readonly number[])[];
const code = (lengths: Readonly<Record<number, readonly number[]>>): PrefixCode =>
  Array.from({ length: 16 }, (_, i) => lengths[i + 1] ?? []);

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);
/** Of the differences of means, by their number of bits: almost all are 0. */
const meanCode = code({ 1: [0], 5: range(1, 11) });
const [endOfBlock, sixteenZeros] = [0x00, 0xf0];
/** Of the other values: how many zeros go before, and the number of bits. Flat blocks have none of them. */
const short = range(1, 6);
const detailCode = code({
  1: [endOfBlock],
  5: short,
  9: [...range(0, 15).flatMap((zeros) => range(1, 10).map((bits) => zeros * 16 + bits)), sixteenZeros].filter(
    (symbol) => !short.includes(symbol),
  ),
});

/** The bits and the length of each symbol. */
function tableOf(lengths: PrefixCode) {
  const [bits, length] = [new Uint16Array(256), new Uint8Array(256)];
  let next = 0;
  for (const [i, symbols] of lengths.entries()) {
    for (const symbol of symbols) [bits[symbol], length[symbol]] = [next++, i + 1];
    next <<= 1;
  }
  return { bits, length };
}

const [means, details] = [tableOf(meanCode), tableOf(detailCode)];

/** Writes bits into a buffer that grows, the highest first, with a zero after each byte of ones. */
class BitWriter {
  #bytes = Buffer.alloc(1 << 16);
  #length = 0;
  #held = 0;
  #bits = 0;

  u(count: number, value: number): void {
    this.#held = (this.#held << count) | value;
    this.#bits += count;
    if (this.#length + 8 > this.#bytes.length) this.#bytes = Buffer.concat([this.#bytes, Buffer.alloc(this.#length)]);
    for (; this.#bits >= 8; this.#bits -= 8) {
      const byte = (this.#held >>> (this.#bits - 8)) & 255;
      this.#bytes[this.#length++] = byte;
      if (byte === 255) this.#bytes[this.#length++] = 0;
    }
  }

  /** All bytes, the last filled with ones. */
  end(): Buffer {
    this.u(7, 0x7f);
    return this.#bytes.subarray(0, this.#length);
  }
}

/** What `fourier` leaves of each row or column is this much too large. */
const scale = [1, 1.387039845, 1.306562965, 1.175875602, 1, 0.785694958, 0.5411961, 0.275899379];
const divisor = Float32Array.from(
  { length: 64 },
  (_, place) => 1 / (8 * step * (scale[place >> 3] as number) * (scale[place & 7] as number)),
);

/** The cosine transform of eight values, with the five multiplications of Arai, Agui and Nakajima. */
function fourier(d: Float32Array, at: number, by: number): void {
  const [i1, i2, i3, i4, i5, i6, i7] = [
    at + by,
    at + 2 * by,
    at + 3 * by,
    at + 4 * by,
    at + 5 * by,
    at + 6 * by,
    at + 7 * by,
  ];
  const [d0, d1, d2, d3] = [d[at] as number, d[i1] as number, d[i2] as number, d[i3] as number];
  const [d4, d5, d6, d7] = [d[i4] as number, d[i5] as number, d[i6] as number, d[i7] as number];
  const [sum07, sum16, sum25, sum34] = [d0 + d7, d1 + d6, d2 + d5, d3 + d4];
  const [even0, even1, even2, even3] = [sum07 + sum34, sum16 + sum25, sum16 - sum25, sum07 - sum34];
  const turned = (even2 + even3) * Math.SQRT1_2;
  d[at] = even0 + even1;
  d[i4] = even0 - even1;
  d[i2] = even3 + turned;
  d[i6] = even3 - turned;
  const [odd0, odd1, odd2] = [d3 - d4 + d2 - d5, (d2 - d5 + d1 - d6) * Math.SQRT1_2, d1 - d6 + d0 - d7];
  const both = (odd0 - odd2) * 0.382683433;
  const [low, high] = [0.5411961 * odd0 + both, 1.306562965 * odd2 + both];
  const [plus, minus] = [d0 - d7 + odd1, d0 - d7 - odd1];
  d[i5] = minus + low;
  d[i3] = minus - low;
  d[i1] = plus + high;
  d[i7] = plus - high;
}

/** The transform of 64 values, divided and rounded, in zigzag order. Answers the place of the last that is not 0. */
function transform(values: Float32Array, to: Int16Array): number {
  for (let row = 0; row < 64; row += 8) fourier(values, row, 1);
  for (let column = 0; column < 8; column++) fourier(values, column, 8);
  let last = 0;
  for (let i = 0; i < 64; i++) {
    const place = zigzag[i] as number;
    const value = Math.round((values[place] as number) * (divisor[place] as number));
    to[i] = value;
    if (value !== 0) last = i;
  }
  return last;
}

/** One of the three components: its value for each colour, and its block that was written last. */
class Component {
  readonly #level: Float32Array;
  readonly #block = new Int16Array(64);
  readonly #values = new Float32Array(64);
  #last = 0;
  #mean = 0;

  constructor(levels: readonly number[]) {
    this.#level = Float32Array.from(levels);
  }

  /** Makes the block from the numbers of its colours. */
  load(indexes: Uint8Array): void {
    let isFlat = true;
    for (let i = 0; i < 64; i++) {
      const value = this.#level[indexes[i] as number] as number;
      this.#values[i] = value;
      if (value !== this.#values[0]) isFlat = false;
    }
    if (isFlat) this.#block[0] = Math.round(((this.#values[0] as number) * 8) / step);
    this.#last = isFlat ? 0 : transform(this.#values, this.#block);
  }

  write(to: BitWriter): void {
    const mean = this.#block[0] as number;
    writeValue(to, means, 0, mean - this.#mean);
    this.#mean = mean;
    let zeros = 0;
    for (let i = 1; i <= this.#last; i++) {
      const value = this.#block[i] as number;
      if (value === 0) {
        zeros++;
        continue;
      }
      for (; zeros > 15; zeros -= 16)
        to.u(details.length[sixteenZeros] as number, details.bits[sixteenZeros] as number);
      writeValue(to, details, zeros * 16, value);
      zeros = 0;
    }
    if (this.#last < 63) to.u(details.length[endOfBlock] as number, details.bits[endOfBlock] as number);
  }
}

/** The symbol of a value's size, and the value in so many bits; negative ones are one less. */
function writeValue(to: BitWriter, { bits, length }: typeof means, before: number, value: number): void {
  const size = 32 - Math.clz32(Math.abs(value));
  to.u(length[before + size] as number, bits[before + size] as number);
  if (size > 0) to.u(size, (value < 0 ? value - 1 : value) & ((1 << size) - 1));
}

function segment(marker: number, ...data: readonly number[]): Buffer {
  const length = data.length + 2;
  return Buffer.from([0xff, marker, length >> 8, length & 255, ...data]);
}

const table = (id: number, lengths: PrefixCode) =>
  segment(0xc4, id, ...lengths.map(({ length }) => length), ...lengths.flat());

/** A picture of few colours as a JPEG file. It is padded to whole blocks of 8 × 8, beyond its size. */
export function indexedJpeg({ pixels, stride, palette }: IndexedPicture, width: number, height: number): Uint8Array {
  const components = [
    ([red, green, blue]: Rgb) => 0.299 * red + 0.587 * green + 0.114 * blue - 128,
    ([red, green, blue]: Rgb) => -0.168736 * red - 0.331264 * green + 0.5 * blue,
    ([red, green, blue]: Rgb) => 0.5 * red - 0.418688 * green - 0.081312 * blue,
  ].map((level) => new Component(palette.map(level)));
  const to = new BitWriter();
  const block = new Uint8Array(64);
  for (let top = 0; top < pixels.length; top += stride * 8)
    for (let at = top; at < top + stride; at += 8) {
      // Most blocks equal the one before.
      let differs = at === 0;
      for (let i = 0; i < 64; i++) {
        const index = pixels[at + (i >> 3) * stride + (i & 7)] as number;
        if (index === block[i]) continue;
        block[i] = index;
        differs = true;
      }
      for (const component of components) {
        if (differs) component.load(block);
        component.write(to);
      }
    }
  const size = [height >> 8, height & 255, width >> 8, width & 255];
  const ids = [1, 2, 3];
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    segment(0xe0, ...Buffer.from("JFIF\0"), 1, 1, 0, 0, 1, 0, 1, 0, 0),
    segment(0xdb, 0, ...new Array<number>(64).fill(step)),
    segment(0xc0, 8, ...size, ids.length, ...ids.flatMap((id) => [id, 0x11, 0])),
    table(0x00, meanCode),
    table(0x10, detailCode),
    segment(0xda, ids.length, ...ids.flatMap((id) => [id, 0x00]), 0, 63, 0),
    to.end(),
    Buffer.from([0xff, 0xd9]),
  ]);
}
