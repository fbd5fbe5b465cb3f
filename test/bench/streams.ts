import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { createService } from "../../lib/index.ts";
import { type Figure, figure } from "./figures.ts";
import type { Arrived, Read } from "./reader.ts";
import { source } from "./request-body.ts";

/** Streams: the latency of a change, and the memory of a thousand idle readers. Run with --expose-gc. */
const [folder = ""] = process.argv.slice(2);
const rounds = 200;
const warmUp = 20;
const idle = 1_000;
const mb = 1024 * 1024;

const service = await createService({
  database: join(folder, "streams.db"),
  rateLimit: 1e9,
  logLevel: "silent",
  deployments: { driver: { delay: () => 86_400_000, step: () => Promise.reject(new Error("nothing is due")) } },
});
const { url } = await service.listen();
const key = service.apiKey ?? "";
const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };

async function post(path: string, body?: object): Promise<{ id: string }> {
  const response = await service.fetch(path, { method: "POST", headers, ...(body && { body: JSON.stringify(body) }) });
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as { id: string };
}

// The readers run in their own process, so their work and memory do not count as ours.
const child = fork(join(import.meta.dirname, "reader.js"), [], { execArgv: [] });
child.once("exit", () => process.exit(1));
const nextMessage = async () => (await once(child, "message"))[0] as Arrived;
await nextMessage();
async function open(kind: Read["open"], path: string, holds: string, times = 1): Promise<void> {
  const opened = nextMessage();
  child.send({ open: kind, url: url + path, key, holds, times } satisfies Read);
  if (!(await opened).open) throw new Error("something arrived before its stream had begun");
}

const ms = () => Number(process.hrtime.bigint()) / 1e6;
/** From sending a change until it arrives at the reader; its commit is between. */
async function latency(kind: string, prepare: (i: number) => Promise<() => Promise<unknown>>): Promise<Figure> {
  const waited: number[] = [];
  for (let i = 0; i < rounds + warmUp; i++) {
    const change = await prepare(i);
    const arrived = nextMessage();
    const from = ms();
    await change();
    waited.push((await arrived).ms - from);
  }
  return figure(`from the request for a change, through its commit, to ${kind}`, "ms", waited.slice(warmUp));
}

/** The memory of this process after garbage collection. */
async function held(): Promise<number> {
  for (let i = 0; i < 3; i++) {
    await wait(200);
    globalThis.gc?.();
  }
  return process.memoryUsage.rss() / mb;
}

const { id: project_id } = await post("/v1/projects", { name: "bench", region: "eu-west-1" });
const deploy = () => post("/v1/deployments", { project_id, environment: "production", source });

await open("websocket", "/v1/stream?events=project.created", "project.created");
const websocket = await latency(
  "a WebSocket",
  async (i) => () => post("/v1/projects", { name: `bench ${i}`, region: "eu-west-1" }),
);
const sse = await latency("Server-Sent Events", async () => {
  const { id } = await deploy();
  await open("sse", `/v1/deployments/${id}/logs?follow=true`, "event: end");
  return () => post(`/v1/deployments/${id}/cancel`);
});

const { id } = await deploy();
const before = await held();
await open("websocket", "/v1/stream?events=project.deleted", "nothing", idle);
const withSockets = await held();
await open("sse", `/v1/deployments/${id}/logs?follow=true`, "nothing", idle);
const withBoth = await held();
child.removeAllListeners("exit");
child.disconnect();
await service.close();
process.stdout.write(
  JSON.stringify([
    websocket,
    sse,
    figure(`memory of ${idle} WebSockets that wait`, "MB", [withSockets - before]),
    figure(`memory of ${idle} Server-Sent Events that wait`, "MB", [withBoth - withSockets]),
  ]),
);
