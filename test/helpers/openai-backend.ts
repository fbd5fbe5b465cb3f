import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

/** A small picture from a backend. */
export const pixel = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

export interface BackendRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  // biome-ignore lint/suspicious/noExplicitAny: a test may assert any field of a request
  readonly body: any;
}

export type BackendHandler = (response: ServerResponse, asked: BackendRequest) => unknown;

export const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): BackendHandler =>
  (response) =>
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));

export const picture = json(200, { created: 1, data: [{ b64_json: pixel.toString("base64") }] });

/** A server with the OpenAI images API over plain http, like one on an operator's own machine. */
export async function startBackend(t: TestContext, answer: BackendHandler = picture) {
  const asked: BackendRequest[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const { method = "", url: path = "", headers } = request;
    const one = { method, path, headers, body: text ? JSON.parse(text) : undefined };
    asked.push(one);
    answer(response, one);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.after(async () => {
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}
