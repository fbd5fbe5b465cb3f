import { Agent, request } from "node:http";
import { percentile } from "./figures.ts";

/** One request of a round: a GET, or a POST where there is a body. */
export interface Asked {
  readonly path: string;
  readonly body?: object;
}
/** One round of load, as the bench asks for it. */
export interface Round {
  readonly url: string;
  readonly ms: number;
  /** Sent in turns. */
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

const connections = 32;
const agent = new Agent({ keepAlive: true, maxSockets: connections });

/** One request after the other on each connection, until the time is over. Any answer but a success ends the bench. */
async function round({ url, ms, requests, keys, headers: more }: Round): Promise<Loaded> {
  const { hostname, port } = new URL(url);
  const wanted = requests.map(({ path, body }) => ({ path, body: body && JSON.stringify(body) }));
  const took: number[] = [];
  let turn = 0;
  const one = () =>
    new Promise<void>((resolve, reject) => {
      // By a prime, so that neighbours in time are not neighbours in the table.
      const { path, body } = wanted[(turn * 7919) % wanted.length] ?? { path: "/", body: undefined };
      const method = body ? "POST" : "GET";
      const headers = {
        authorization: `Bearer ${keys[turn++ % keys.length]}`,
        ...(body && { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
        ...more,
      };
      const from = performance.now();
      const sent = request({ agent, hostname, port, method, path, headers }, (response) => {
        if ((response.statusCode ?? 500) >= 300)
          reject(new Error(`${method} ${url}${path} answered ${response.statusCode}`));
        response.resume();
        response.on("end", () => {
          took.push(performance.now() - from);
          resolve();
        });
      });
      sent.on("error", reject);
      sent.end(body);
    });
  const from = performance.now();
  const connection = async () => {
    while (performance.now() - from < ms) await one();
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

process.on("message", async (asked: Round | "end") => {
  if (asked !== "end") return process.send?.(await round(asked));
  agent.destroy();
  process.disconnect();
});
