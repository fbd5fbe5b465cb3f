import { once } from "node:events";
import { Agent, type IncomingHttpHeaders, type RequestOptions, request } from "node:http";
import { connect, type Socket } from "node:net";
import type { TestContext } from "node:test";
import type { Options } from "../../lib/index.ts";
import { bearer } from "./headers.ts";
import { keyOf, type World, world } from "./test-service.ts";

/** Calls a service over a real socket. */

export interface ListeningWorld extends World {
  readonly port: number;
  /** Sends one request with Node's client, using the owner's key unless `headers` say otherwise. */
  send(method: string, path: string, more?: RequestParts): Promise<RawReply>;
  /** Writes these bytes. Returns everything received until the other side closes. */
  raw(text: string | Buffer): Promise<string>;
}

export interface RequestParts {
  readonly headers?: Record<string, string | string[]>;
  readonly body?: string | Buffer;
  readonly agent?: Agent;
}

export interface RawReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test may assert any field of a response
  readonly body: any;
}

export const owner = bearer(keyOf("owner"));

/** A request as text to write to a socket. `lines` are additional header lines. */
export const lines = (first: string, ...more: string[]): string =>
  `${[first, `Authorization: ${owner.authorization}`, ...more].join("\r\n")}\r\n\r\n`;

export async function listeningWorld(t: TestContext, options: Options = {}): Promise<ListeningWorld> {
  const here = await world(t, options);
  const { port } = await here.service.listen({ port: 0 });
  return {
    ...here,
    port,
    send: (method, path, sent = {}) => send({ port, method, path }, sent),
    async raw(text) {
      const socket = await open(port);
      const answer = all(socket);
      socket.write(text);
      return answer;
    },
  };
}

export async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1" });
  await once(socket, "connect");
  return socket;
}

/** Reads all bytes of a socket. A reset counts as a close. */
export function all(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => chunks.push(chunk));
  socket.on("error", () => {});
  return new Promise((resolve) => socket.on("close", () => resolve(Buffer.concat(chunks).toString("latin1"))));
}

function send(at: RequestOptions, { headers = owner, body, agent }: RequestParts): Promise<RawReply> {
  return new Promise((resolve, reject) => {
    const asked = request({ ...at, host: "127.0.0.1", headers, agent: agent ?? new Agent() }, async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk);
      const text = Buffer.concat(chunks).toString();
      const json = response.headers["content-type"] === "application/json" && text !== "";
      const { statusCode: status = 0, headers } = response;
      resolve({ status, headers, text, body: json ? JSON.parse(text) : undefined });
    });
    asked.on("error", reject);
    asked.end(body);
  });
}

/** The status of each response in a byte stream. */
export const statusesIn = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((found) => Number(found[1]));
