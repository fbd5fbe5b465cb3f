import assert from "node:assert/strict";
import { test } from "node:test";
import { browser, noBrowser, pages } from "../helpers/browser.ts";
import { finishedGeneration, small } from "../helpers/painter.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";
import { keyOf } from "../helpers/test-service.ts";

/** The WebSocket of browsers, which Node's types for version 20 lack. */
interface BrowserSocket {
  send(text: string): void;
  addEventListener(name: "open" | "message" | "error", run: (event: { data: string }) => void): void;
}
type Client = typeof import("../../lib/client.ts");
type Socket = new (url: string) => BrowserSocket;

interface Call {
  readonly api: string;
  readonly key: string;
}

/** A page that calls `/v1` without the client: it reads, writes twice with one idempotency key, and reads the headers. */
async function callsApi({ api, key }: Call) {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const me = await fetch(`${api}/v1/me`, { headers });
  const post = () =>
    fetch(`${api}/v1/projects`, {
      method: "POST",
      headers: { ...headers, "Idempotency-Key": "one" },
      body: JSON.stringify({ name: "by hand", region: "eu-west-1" }),
    });
  const [first, second] = [await post(), await post()];
  const seen = (response: Response, ...names: string[]) =>
    [response.status, ...names.map((name) => response.headers.get(name) !== null)].join(" ");
  return [
    seen(me, "x-request-id", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"),
    seen(first, "location", "idempotent-replayed"),
    seen(second, "location", "idempotent-replayed"),
  ];
}

/** A page with the typed client. It returns two events, and the id of the first. */
async function usesClient({ api, key }: Call): Promise<string | undefined> {
  const { createClient }: Client = await import(`${"/lib/client.js"}`);
  const { projects, events } = createClient({ baseUrl: `${api}/v1`, apiKey: key });
  for (const name of ["stream one", "stream two"]) await projects.create({ name, region: "eu-west-1" });
  return (await events.list()).data.at(-1)?.id;
}

/** The first event after `after` that a page receives on the stream. */
function hearsStream({ api, key, after }: Call & { readonly after: string | undefined }): Promise<string> {
  const { WebSocket } = globalThis as unknown as { WebSocket: Socket };
  const socket = new WebSocket(`${api.replace("http", "ws")}/v1/stream?after=${after}`);
  return new Promise((resolve) => {
    socket.addEventListener("open", () => socket.send(key));
    socket.addEventListener("message", ({ data }) => resolve(JSON.parse(data).event));
    socket.addEventListener("error", () => resolve("refused"));
  });
}

/** The type and length of a file that a script may read, else the browser's error message. */
const loads = (url: string) =>
  fetch(url).then(
    async (response) => `${response.headers.get("content-type")} ${(await response.arrayBuffer()).byteLength}`,
    (error: Error) => error.message,
  );

/** A receiver in a page, with WebCrypto. */
async function verifies({ body, signature }: { body: string; signature: string }) {
  const { verifySignatureAsync }: Client = await import(`${"/lib/client.js"}`);
  const judged = [body, body.replace("web", "evil")].map((text) => verifySignatureAsync("hush", text, signature));
  return Promise.all(judged);
}

test("Chromium: a page of an allowed origin uses /v1, its stream and its files; a page of another may not", {
  skip: noBrowser,
}, async (t) => {
  const port = await pages(t);
  const cors = [`http://127.0.0.1:${port}`];
  const hosted = await listeningWorld(t, { mode: "start", clock: "real", random: undefined, cors });
  const emulator = await listeningWorld(t, { cors });
  const key = keyOf("owner");
  const here = { api: `http://127.0.0.1:${hosted.port}`, key };

  const { output } = await finishedGeneration(emulator, small);
  const file = output.url.replace("http://localhost", `http://127.0.0.1:${emulator.port}`);
  await emulator.service.client({ apiKey: key }).webhooks.create({
    url: "https://hook.inbox.test/",
    events: ["project.created"],
    secret: "hush",
  });
  await emulator.project("web");
  const { body, headers } = await emulator.service.webhooks.waitFor("project.created");
  const delivery = { body, signature: headers["x-service-signature"] ?? "" };

  const { open } = await browser(t);
  const [allowed, foreign] = await Promise.all([open(`http://127.0.0.1:${port}/`), open(`http://localhost:${port}/`)]);
  assert.deepEqual(await allowed.evaluate(callsApi, here), [
    "200 true true true true",
    "201 true false",
    "201 true true",
  ]);
  const after = await allowed.evaluate(usesClient, here);
  assert.equal(await allowed.evaluate(hearsStream, { ...here, after }), "project.created");
  assert.match(await allowed.evaluate(loads, file), /^image\/png [1-9]\d+$/);
  assert.deepEqual(await allowed.evaluate(verifies, delivery), [true, false]);

  await assert.rejects(foreign.evaluate(callsApi, here), /Failed to fetch/);
  assert.equal(await foreign.evaluate(hearsStream, { ...here, after }), "refused");
  assert.equal(await foreign.evaluate(loads, file), "Failed to fetch");
});
