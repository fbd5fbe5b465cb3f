import { connect, type Socket } from "node:net";
import { percentile } from "./figures.ts";

/** One request of a round: a POST with a body, else a GET. */
export interface Asked {
  readonly path: string;
  readonly body?: object;
  /** Used instead of the round's keys. */
  readonly key?: string;
}
/** One round of load. */
export interface Round {
  readonly url: string;
  /** More servers: each connection goes to one of all servers. */
  readonly others?: readonly string[];
  readonly ms: number;
  /** Default: 32. */
  readonly connections?: number;
  /** Sent round-robin. */
  readonly requests: readonly Asked[];
  readonly keys: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}
export interface Loaded {
  readonly requests: number;
  readonly per_second: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
}

/**
 * Sends one request after the other on each connection until the time is up. An unsuccessful response ends the bench.
 * Requests are written by hand: Node's client needs more time for a request than the servers do, which would distort
 * the measurement.
 */
async function round({ url, others = [], ms, connections = 32, requests, keys, headers = {} }: Round): Promise<Loaded> {
  const { host } = new URL(url);
  const targets = [url, ...others].map((one) => new URL(one));
  const more = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const texts = requests.map(({ path, body, key: own }) => {
    const text = body ? JSON.stringify(body) : "";
    const described = body ? `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n` : "";
    const hostLine = "host" in headers ? "" : `host: ${host}\r\n`;
    const head = `${body ? "POST" : "GET"} ${path} HTTP/1.1\r\n${hostLine}${described}${more.join("")}`;
    return (key: string) => `${head}authorization: Bearer ${own ?? key}\r\n\r\n${text}`;
  });
  let turn = 0;
  const next = () => {
    // Steps by a prime, so that successive requests read distant rows.
    const text = texts[(turn * 7919) % texts.length] ?? String;
    return text(keys[turn++ % keys.length] ?? "");
  };
  const took: number[] = [];
  const from = performance.now();
  const connection = async (_: unknown, i: number) => {
    const { port, hostname } = targets[i % targets.length] ?? { port: "", hostname: "" };
    const socket = connect(Number(port), hostname).setNoDelay(true);
    while (performance.now() - from < ms) {
      const began = performance.now();
      socket.write(next());
      await answered(socket);
      took.push(performance.now() - began);
    }
    socket.destroy();
  };
  await Promise.all(Array.from({ length: connections }, connection));
  const seconds = (performance.now() - from) / 1000;
  return {
    requests: took.length,
    per_second: took.length / seconds,
    p50_ms: percentile(took, 0.5),
    p99_ms: percentile(took, 0.99),
  };
}

/** Reads one response to its end, by its content length or its last chunk. */
function answered(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    let head = "";
    let left = Number.POSITIVE_INFINITY;
    const end = (error?: Error) => {
      socket.off("data", read).off("error", end).off("close", closed);
      if (error) reject(error);
      else resolve();
    };
    const closed = () => end(new Error("the server closed a connection"));
    const read = (chunk: Buffer) => {
      left -= chunk.length;
      if (left === Number.POSITIVE_INFINITY) {
        head += chunk.toString("latin1");
        const body = head.indexOf("\r\n\r\n") + 4;
        if (body < 4) return;
        if (!head.startsWith("HTTP/1.1 2")) return end(new Error(`the server answered ${head}`));
        const length = /^content-length: *(\d+)/im.exec(head)?.[1];
        if (length !== undefined) left = body + Number(length) - head.length;
      }
      if (left <= 0 || chunk.subarray(-5).equals(lastChunk)) end();
    };
    socket.on("data", read).on("error", end).on("close", closed);
  });
}
const lastChunk = Buffer.from("0\r\n\r\n");

process.on("message", async (asked: Round | "end") => {
  if (asked !== "end") return process.send?.(await round(asked));
  process.disconnect();
});
