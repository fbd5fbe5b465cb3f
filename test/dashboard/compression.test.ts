import assert from "node:assert/strict";
import { request } from "node:http";
import { buffer } from "node:stream/consumers";
import { test } from "node:test";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { listeningWorld } from "../helpers/raw-sockets.ts";

const decoders = { br: brotliDecompressSync, gzip: gunzipSync } as const;

/** The bytes of a response as received; fetch would decode them. */
const get = (port: number, path: string, accepted?: string) =>
  new Promise<{ encoding: string | undefined; vary: string | undefined; bytes: Buffer }>((resolve, reject) => {
    const headers = accepted === undefined ? {} : { "accept-encoding": accepted };
    request({ host: "127.0.0.1", port, path, headers }, async (response) => {
      const { "content-encoding": encoding, vary, "content-length": length } = response.headers;
      const bytes = await buffer(response);
      assert.equal(Number(length), bytes.length);
      resolve({ encoding, vary, bytes });
    })
      .on("error", reject)
      .end();
  });

test("the page's files come in the coding that the client rates highest", async (t) => {
  const { port } = await listeningWorld(t);
  const plain = (await get(port, "/dashboard")).bytes;
  const [, program = ""] = /src="(\/dashboard\/assets\/app-[^"]+\.js)"/.exec(String(plain)) ?? [];
  const cases: readonly (readonly [string | undefined, keyof typeof decoders | undefined])[] = [
    [undefined, undefined],
    ["", undefined],
    ["identity", undefined],
    ["gzip", "gzip"],
    ["x-gzip", "gzip"],
    ["GZIP", "gzip"],
    ["br", "br"],
    ["gzip, deflate, br, zstd", "br"],
    ["gzip, deflate", "gzip"],
    ["br;q=0, gzip", "gzip"],
    ["br;q=0.5, gzip;q=0.8", "gzip"],
    ["br; q=0.8,gzip;q=0.8", "br"],
    ["gzip;q=0", undefined],
    ["gzip;q=0, *", "br"],
    ["*", "br"],
    ["*;q=0, gzip;q=0.1", "gzip"],
    ["*;q=0", undefined],
    ["identity, gzip;q=0.5", undefined],
    ["identity;q=0.5, gzip;q=0.5", "gzip"],
    ["gzip;q=x, br;q=", undefined],
    ["brotli, abbr, zgzip", undefined],
  ];
  for (const path of ["/dashboard", program]) {
    const whole = (await get(port, path)).bytes;
    for (const [accepted, coding] of cases) {
      const { encoding, vary, bytes } = await get(port, path, accepted);
      assert.deepEqual([encoding, vary], [coding, "Accept-Encoding"], `${path} ${accepted}`);
      assert.ok((coding ? decoders[coding](bytes) : bytes).equals(whole), `${path} ${accepted}`);
      if (coding) assert.ok(bytes.length < whole.length, `${path} ${accepted}`);
    }
  }
});
