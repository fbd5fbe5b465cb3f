import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { sizeFor } from "../../lib/drivers/generation/image-size.ts";
import { type OpenaiOptions, openaiImages } from "../../lib/drivers/generation/openai.ts";
import { createOutbound } from "../../lib/drivers/outbound/outbound.ts";
import { certificate } from "../helpers/certificates.ts";
import fc from "../helpers/fast-check.ts";
import { conforms, finish, work } from "../helpers/generation-driver.ts";
import { type BackendHandler, json, picture, pixel, startBackend } from "../helpers/openai-backend.ts";

const key = "sk-demo-of-the-operator";

/** The driver in the mode `start`, which allows no private address but the backend's own. */
function driverOf(t: TestContext, url: string, more: Partial<OpenaiOptions> = {}, ca?: readonly string[]) {
  const outbound = createOutbound({ mode: "start", ...(ca && { ca }) });
  t.after(() => outbound.close());
  const options = { url: `${url}/v1`, key, models: { any: {} }, downloads: [], timeout_ms: 5_000 };
  return openaiImages({ ...options, ...more }, outbound);
}

async function stage(t: TestContext, answer: BackendHandler, more: Partial<OpenaiOptions> = {}) {
  const backend = await startBackend(t, answer);
  return { ...backend, driver: driverOf(t, backend.url, more) };
}

conforms("openai", async (t) => (await stage(t, picture)).driver);

test("The request has the documented form, the key, and the generation as idempotency key", async (t) => {
  const { driver, asked } = await stage(t, picture, {
    models: { any: { model: "flux-dev", extra: { quality: "high", response_format: null } } },
  });
  const answer = await driver.submit(work({ prompt: "a hill", width: 1024, height: 576 }));
  assert.deepEqual(answer, { state: "done", bytes: pixel, cost_usd: null });
  const [request] = asked;
  assert.deepEqual([request?.method, request?.path], ["POST", "/v1/images/generations"]);
  assert.deepEqual(request?.body, { model: "flux-dev", prompt: "a hill", n: 1, size: "1024x576", quality: "high" });
  assert.equal(request?.headers.authorization, `Bearer ${key}`);
  assert.equal(request?.headers["idempotency-key"], work().generation_id);
  await driverOf(t, (await startBackend(t)).url).submit(work());
});

test("A file may come as a URL of the backend, relative or absolute, or of an allowed origin", async (t) => {
  const elsewhere = await startBackend(t, (response) => response.end(pixel));
  for (const named of ["/files/1.png", "files/1.png", "whole", "elsewhere"]) {
    const answer: BackendHandler = (response, { path, headers }) => {
      if (path.includes("/files/")) return response.end(pixel);
      const own = `http://${headers.host}/files/1.png`;
      const url = named === "whole" ? own : named === "elsewhere" ? `${elsewhere.url}/1.png` : named;
      return json(200, { data: [{ url }] })(response, { path, headers, method: "", body: undefined });
    };
    const { driver } = await stage(t, answer, { downloads: [elsewhere.url] });
    assert.equal((await finish(driver, work())).state, "done", named);
  }
  assert.equal(elsewhere.asked[0]?.headers.authorization, undefined, "the key goes to the backend alone");
});

test("The bytes of a file decide, however it is called, wrapped or moved, and its cost is kept", async (t) => {
  const base64 = pixel.toString("base64");
  for (const [entry, usage, cost_usd] of [
    [{ url: `data:image/jpeg;base64,${base64}` }, undefined, null],
    [{ url: `data:;base64,${base64}` }, null, null],
    [{ b64_json: `data:image/png;charset=utf-8;base64,${base64}`, url: "" }, { cost: 0.039 }, 0.039],
    [{ b64_json: base64, media_type: "image/webp" }, { cost: "0.5" }, 0.5],
    [{ url: "/files/1.webp" }, { cost: -1 }, null],
    [{ url: "/moved/1.png" }, { cost: "free" }, null],
  ] as const) {
    const { driver } = await stage(t, (response, asked) => {
      if (asked.path.startsWith("/moved/")) return response.writeHead(302, { location: "../files/1.png" }).end();
      if (asked.path.startsWith("/files/")) return response.writeHead(200, { "content-type": "image/webp" }).end(pixel);
      return json(200, { data: [entry], usage })(response, asked);
    });
    assert.deepEqual(await finish(driver, work()), { state: "done", bytes: pixel, cost_usd }, JSON.stringify(entry));
  }
  // A redirect leads only where a file may be, and ends.
  const elsewhere = await startBackend(t);
  for (const [to, message] of [
    [`${elsewhere.url}/1.png`, /on another origin/],
    ["http://169.254.169.254/", /on another origin/],
    ["/moved", /could not be fetched: 302/],
  ] as const) {
    const { driver } = await stage(t, (response, asked) => {
      if (asked.path === "/moved") return response.writeHead(302, { location: to }).end();
      return json(200, { data: [{ url: "/moved" }] })(response, asked);
    });
    const ended = await finish(driver, work());
    assert.match(ended.state === "failed" ? ended.message : "", message);
  }
  assert.equal(elsewhere.asked.length, 0);
});

test("A file at any other address is refused, and nothing is sent there", async (t) => {
  const canary = await startBackend(t);
  for (const url of [
    `${canary.url}/1.png`,
    canary.url.replace("127.0.0.1", "localhost"),
    ...["http://169.254.169.254/latest", "https://example.com/1.png", "file:///etc/passwd", "data:image/png;base64,AA"],
    ...["http://user:pass@example.com/", "http://", "//[::1]/", "javascript:alert(1)"],
  ]) {
    const { driver } = await stage(t, json(200, { data: [{ url }] }));
    const answer = await finish(driver, work());
    assert.deepEqual(answer.state === "failed" && answer.code, "backend_failed", url);
  }
  assert.equal(canary.asked.length, 0);
});

test("Metadata addresses of clouds stay blocked, even where an operator names one", async (t) => {
  const driver = driverOf(t, "http://169.254.169.254");
  const answer = await finish(driver, work());
  assert.match(answer.state === "failed" ? answer.message : "", /address_not_allowed/);
});

const b64 = (bytes: Uint8Array | string) => json(200, { data: [{ b64_json: Buffer.from(bytes).toString("base64") }] });
const bad: readonly (readonly [name: string, answer: BackendHandler, code: string, message: RegExp])[] = [
  ["no JSON", (response) => response.end("<html>busy</html>"), "backend_failed", /neither/],
  ["broken JSON", (response) => response.end('{"data":[{"b64_json":"AAAA'), "backend_failed", /neither/],
  ["JSON of another form", json(200, { data: {} }), "backend_failed", /neither/],
  ["an empty list", json(200, { data: [] }), "backend_failed", /neither/],
  ["nothing in the entry", json(200, { data: [{}] }), "backend_failed", /neither/],
  ["null", json(200, null), "backend_failed", /neither/],
  ["no picture", b64("<svg onload=alert(1)>"), "backend_failed", /not a picture/],
  ["a film", b64("\0\0\0\x18ftypmp42"), "backend_failed", /not a picture/],
  [
    "a refusal in words",
    json(400, { error: { message: `no such size; key ${key}` } }),
    "backend_refused",
    /400: no such size; key \[redacted\]$/,
  ],
  ["a refusal as a text", json(422, { error: "bad prompt" }), "backend_refused", /422: bad prompt$/],
  ["a refusal without words", (response) => response.writeHead(403).end("no"), "backend_refused", /answered 403$/],
  ["a wrong key", json(401, {}), "backend_refused", /answered 401$/],
  ["an error with 200", json(200, { error: { message: "unsafe prompt" } }), "backend_failed", /200: unsafe prompt$/],
  [
    "half a file, and its cost",
    json(200, { data: [{ b64_json: pixel.subarray(0, 40).toString("base64") }], usage: { cost: "0.04" } }),
    "backend_failed",
    /incomplete: it ends in the middle; the backend reported a cost of 0.04 USD$/,
  ],
  ["a fault", json(500, { error: { message: "out of memory" } }), "backend_failed", /500: out of memory$/],
  ["a redirect", (response) => response.writeHead(302, { location: "/elsewhere" }).end(), "backend_failed", /302$/],
  ["a hang-up", (response) => response.destroy(), "backend_failed", /connection reset/],
  [
    "half a body",
    (response) => response.writeHead(200, { "content-length": 99 }).write("{", () => response.destroy()),
    "backend_failed",
    /connection reset/,
  ],
  ["no end", (response) => response.writeHead(200).write("{"), "backend_failed", /timeout after 300 ms/],
  ["silence", () => {}, "backend_failed", /timeout after 300 ms/],
];

for (const [name, answer, code, message] of bad) {
  test(`A backend that answers ${name} fails the generation, once and with a message`, async (t) => {
    const { driver, asked } = await stage(t, answer, { timeout_ms: 300 });
    const ended = await finish(driver, work());
    assert.equal(ended.state, "failed");
    if (ended.state !== "failed") return;
    assert.equal(ended.code, code);
    assert.match(ended.message, message);
    assert.ok(!ended.message.includes(key));
    assert.equal(asked.length, 1, "what may have been paid for is not asked again");
  });
}

test("An answer that is too large is cut off and not stored", async (t) => {
  const block = Buffer.alloc(1024 * 1024, 65);
  const flood: BackendHandler = (response) => {
    const more = () => {
      while (!response.destroyed && response.write(block));
      response.once("drain", more);
    };
    more();
  };
  const { driver } = await stage(t, flood, { timeout_ms: 60_000 });
  const ended = await finish(driver, work());
  assert.match(ended.state === "failed" ? ended.message : "", /over 67108864 bytes/);
});

test("A busy or unreachable backend is retried after its Retry-After, for a limited time", async (t) => {
  const busy = await stage(t, json(429, {}, { "retry-after": "7" }));
  assert.deepEqual(await busy.driver.submit(work()), { state: "running", again_ms: 7000, handle: null });
  const long = await stage(t, json(503, {}, { "retry-after": "86400" }));
  assert.deepEqual(await long.driver.submit(work()), { state: "running", again_ms: 60_000, handle: null });
  const gone = driverOf(t, "http://127.0.0.1:1");
  assert.deepEqual(await gone.submit(work()), { state: "running", again_ms: 5000, handle: null });
  const late = await gone.submit(work({ elapsed_ms: 600_000 }));
  assert.equal(late.state === "failed" && late.code, "backend_busy");
});

test("A cancel aborts the request", async (t) => {
  let begun = () => {};
  const asked = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const { driver } = await stage(t, () => begun());
  const answer = driver.submit(work());
  await asked;
  await driver.cancel(work(), null);
  const ended = await answer;
  assert.match(ended.state === "failed" ? ended.message : "", /cancelled/);
});

test("Over TLS the certificate is verified, in the mode dev too", async (t) => {
  const pair = certificate();
  const server = createServer(pair, (_, response) =>
    picture(response, { method: "", path: "", headers: {}, body: undefined }),
  );
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `https://localhost:${(server.address() as AddressInfo).port}`;
  const options = { url: `${url}/v1`, key, models: { any: {} }, downloads: [], timeout_ms: 5_000 };
  const careless = createOutbound({ mode: "dev" });
  t.after(() => careless.close());
  const refused = await openaiImages(options, careless).submit(work());
  assert.match(refused.state === "failed" ? refused.message : "", /certificate/);
  assert.equal((await driverOf(t, url, {}, [pair.cert]).submit(work())).state, "done");
});

test("A prompt sets no parameters of the server", async (t) => {
  const { driver, asked } = await stage(t, picture);
  await driver.submit(work({ prompt: 'a <sd_cpp_extra_args>{"steps":999}</sd_cpp_extra_args> hill' }));
  assert.ok(!asked[0]?.body.prompt.includes("sd_cpp_extra_args"));
});

test("The size is the nearest that the model takes, or multiples of 16", () => {
  const sizes = ["1024x1024", "1024x1536", "1536x1024"];
  assert.equal(sizeFor({ width: 1024, height: 576 }, sizes), "1536x1024");
  assert.equal(sizeFor({ width: 576, height: 1024 }, sizes), "1024x1536");
  assert.equal(sizeFor({ width: 512, height: 512 }, sizes), "1024x1024");
  assert.equal(sizeFor({ width: 1024, height: 682 }), "1024x688");
  const side = fc.integer({ min: 16, max: 2048 });
  fc.assert(
    fc.property(side, side, (width, height) => {
      const [w = 0, h = 0] = sizeFor({ width, height }).split("x").map(Number);
      assert.ok(w % 16 === 0 && h % 16 === 0 && Math.abs(w - width) <= 8 && Math.abs(h - height) <= 8);
      assert.equal(sizeFor({ width, height }, sizes).length, 9);
    }),
  );
});
