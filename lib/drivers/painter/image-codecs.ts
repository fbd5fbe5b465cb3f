import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Frame } from "./canvas.ts";

declare global {
  // Node's types for version 20 leave it out.
  namespace WebAssembly {
    function compile(bytes: Uint8Array): Promise<object>;
  }
}

/** A codec's WebAssembly, read from its package: of itself it would be fetched, which Node refuses for files. */
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

/** An opaque picture as a JPEG file. */
export const jpeg = async (frame: Frame): Promise<Uint8Array> =>
  new Uint8Array(await (await jpegEncoder())(picture(frame), { quality: 88 }));

/** An opaque picture as a lossy WebP file. */
export const webp = async (frame: Frame): Promise<Uint8Array> =>
  new Uint8Array(await (await webpEncoder())(picture(frame), { quality: 86, method: 3 }));
