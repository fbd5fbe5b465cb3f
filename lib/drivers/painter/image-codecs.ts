import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Frame } from "./canvas.ts";
import type { Media } from "./painter.ts";
import { png } from "./png.ts";

declare global {
  // Missing in Node's types for version 20.
  namespace WebAssembly {
    function compile(bytes: Uint8Array): Promise<object>;
  }
}

/** Reads a codec's WebAssembly from its package. The codec itself would use fetch, which Node refuses for files. */
const codec = async (file: string) => WebAssembly.compile(await readFile(fileURLToPath(import.meta.resolve(file))));

const once = <T>(make: () => Promise<T>): (() => Promise<T>) => {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
};

const jpegEncoder = once(async () => {
  const { default: encode, init } = await import("@jsquash/jpeg/encode.js");
  await init(await codec("@jsquash/jpeg/codec/enc/mozjpeg_enc.wasm"));
  return encode;
});

const webpEncoder = once(async () => {
  const { default: encode, init } = await import("@jsquash/webp/encode.js");
  await init(await codec("@jsquash/webp/codec/enc/webp_enc_simd.wasm"));
  return encode;
});

const picture = (frame: Frame) => ({ ...frame, colorSpace: "srgb" as const });

/** Scenes become small files of good quality. Flat placeholders use the fastest format, which is lossless for WebP. */
const [jpegSettings, webpSettings] = [
  { painted: { quality: 88 }, fast: { quality: 75, progressive: false } },
  { painted: { quality: 86, method: 3 }, fast: { lossless: 1, quality: 0, method: 1 } },
];

const jpeg = async (frame: Frame, media: Media): Promise<Uint8Array> =>
  new Uint8Array(await (await jpegEncoder())(picture(frame), jpegSettings[media]));

const webp = async (frame: Frame, media: Media): Promise<Uint8Array> =>
  new Uint8Array(await (await webpEncoder())(picture(frame), webpSettings[media]));

export const imageEncoders = { png, jpeg, webp };
