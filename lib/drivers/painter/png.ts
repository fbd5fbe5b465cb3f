import { crc32 } from "node:zlib";
import type { Frame } from "./canvas.ts";
import { deflate } from "./deflate.ts";

const signature = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);

function chunk(name: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(name, "latin1"), data]);
  const whole = Buffer.alloc(body.length + 8);
  whole.writeUInt32BE(data.length, 0);
  whole.set(body, 4);
  whole.writeUInt32BE(crc32(body), body.length + 4);
  return whole;
}

/** The rows with PNG filter 1 (difference to the pixel on the left), without the alpha channel. */
function filtered({ data, width, height }: Frame): Uint8Array {
  const rows = new Uint8Array(height * (width * 3 + 1));
  let to = 0;
  let from = 0;
  for (let y = 0; y < height; y++) {
    rows[to++] = 1;
    let [red, green, blue] = [0, 0, 0];
    for (let x = 0; x < width; x++, from += 4) {
      const [r, g, b] = [data[from] as number, data[from + 1] as number, data[from + 2] as number];
      rows[to++] = r - red;
      rows[to++] = g - green;
      rows[to++] = b - blue;
      [red, green, blue] = [r, g, b];
    }
  }
  return rows;
}

export function png(frame: Frame): Uint8Array {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(frame.width, 0);
  header.writeUInt32BE(frame.height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const rows = deflate(filtered(frame), 4);
  return Buffer.concat([signature, chunk("IHDR", header), chunk("IDAT", rows), chunk("IEND", new Uint8Array())]);
}
