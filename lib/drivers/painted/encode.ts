import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

declare global {
  // Node's types for version 20 leave it out.
  namespace WebAssembly {
    function compile(bytes: Uint8Array): Promise<object>;
  }
}

/** A codec's WebAssembly, read from its package: of themselves these packages would fetch it. */
const codec = async (file: string) => WebAssembly.compile(await readFile(fileURLToPath(import.meta.resolve(file))));

const picture = (data: Uint8ClampedArray, width: number, height: number) => ({
  data,
  width,
  height,
  colorSpace: "srgb" as const,
});

/** An opaque picture as a JPEG file. */
export async function jpeg(rgba: Uint8ClampedArray, width: number, height: number): Promise<Uint8Array> {
  const { default: encode, init } = await import("@jsquash/jpeg/encode.js");
  await init(await codec("@jsquash/jpeg/codec/enc/mozjpeg_enc.wasm"));
  return new Uint8Array(await encode(picture(rgba, width, height), { quality: 88 }));
}

/** An opaque picture as a lossy WebP file. */
export async function webp(rgba: Uint8ClampedArray, width: number, height: number): Promise<Uint8Array> {
  const { default: encode, init } = await import("@jsquash/webp/encode.js");
  await init(await codec("@jsquash/webp/codec/enc/webp_enc_simd.wasm"));
  return new Uint8Array(await encode(picture(rgba, width, height), { quality: 86, method: 3 }));
}
