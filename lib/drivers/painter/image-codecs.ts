import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Frame } from "./canvas.ts";

declare global {
  // Missing in Node's types for version 20.
  namespace WebAssembly {
    function compile(bytes: Uint8Array): Promise<object>;
  }
}

/** A codec's WebAssembly, read from its package; by itself the codec would fetch it, which Node refuses for files. */
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

/** A frame as a JPEG file. */
export const jpeg = async (frame: Frame): Promise<Uint8Array> =>
  new Uint8Array(await (await jpegEncoder())(picture(frame), { quality: 88 }));

/** A frame as a lossy WebP file. */
export const webp = async (frame: Frame): Promise<Uint8Array> =>
  new Uint8Array(await (await webpEncoder())(picture(frame), { quality: 86, method: 3 }));
