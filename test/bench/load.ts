import { Agent, request } from "node:http";
import { source } from "./order.ts";

/** One round of load, as the bench asks for it. */
export interface Round {
  readonly url: string;
  readonly kind: "get" | "list" | "post";
  readonly ms: number;
  readonly key: string;
  readonly project_id: string;
  readonly ids: readonly string[];
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
async function round({ url, kind, ms, key, project_id, ids }: Round): Promise<Loaded> {
  const body = kind === "post" ? JSON.stringify({ project_id, environment: "production", source }) : undefined;
  const headers = {
    authorization: `Bearer ${key}`,
    ...(body && { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
  };
  const { hostname, port } = new URL(url);
  const method = body ? "POST" : "GET";
  const took: number[] = [];
  let turn = 0;
  const one = () =>
    new Promise<void>((resolve, reject) => {
      const path = kind === "get" ? `/v1/deployments/${ids[(turn++ * 7919) % ids.length]}` : "/v1/deployments";
      const from = performance.now();
      const sent = request({ agent, hostname, port, method, path, headers }, (response) => {
        if ((response.statusCode ?? 500) >= 300) reject(new Error(`${method} ${path} answered ${response.statusCode}`));
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
  took.sort((a, b) => a - b);
  const at = (part: number) => took[Math.floor(took.length * part)] ?? Number.NaN;
  return { requests: took.length, per_second: took.length / seconds, p50_ms: at(0.5), p99_ms: at(0.99) };
}

process.on("message", async (asked: Round | "end") => {
  if (asked !== "end") return process.send?.(await round(asked));
  agent.destroy();
  process.disconnect();
});
