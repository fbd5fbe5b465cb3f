import { type ChildProcess, fork } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { Agent, createServer, request } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createService } from "../../lib/index.ts";
import { certificate } from "../helpers/certificates.ts";
import { type Figure, figure, timed } from "./figures.ts";

/** Signed deliveries to one HTTPS receiver through the durable outbox, against a bare loop that only signs and sends. */
const [folder = ""] = process.argv.slice(2);
const rounds = 5;
/** Rounds before the measurement, in which both sides are compiled and connect. */
const warmUp = 3;
const count = 1_000;
/** Requests in flight: as many as the outbox sends to one endpoint. */
const concurrency = 32;
const secret = "whsec_bench";

interface Service {
  readonly settle: () => Promise<unknown>;
  post(path: string, body: object): Promise<{ id: string }>;
  close(): Promise<void>;
}

async function service(clock: "manual" | "real", name: string): Promise<Service> {
  const made = await createService({ database: join(folder, name), clock, rateLimit: 1e9, logLevel: "silent" });
  const headers = { authorization: `Bearer ${made.apiKey}`, "content-type": "application/json" };
  return {
    settle: made.settle,
    close: made.close,
    async post(path, body) {
      const response = await made.fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
      if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
      return (await response.json()) as { id: string };
    },
  };
}

async function receiver(): Promise<{ child: ChildProcess; url: string }> {
  const child = fork(join(import.meta.dirname, "receiver.js"), [], { execArgv: [] });
  const [{ url }] = (await once(child, "message")) as [{ url: string }];
  return { child, url };
}

/**
 * The minimum of any sender: signs each delivery and sends it once, on connections kept open between rounds. The
 * headers and body follow the contract, with the same number of bytes as a delivery.
 */
function bareLoop(url: string) {
  const agent = new Agent({
    keepAlive: true,
    maxSockets: concurrency,
    maxFreeSockets: concurrency,
    rejectUnauthorized: false,
  });
  const timestamp = "2026-01-01T00:00:00.000Z";
  const data = { project_id: "proj_01M7ZK81Z15Y5Z5SDWSRTK5DGT", name: "bench 1000", region: "eu-west-1" };
  const body = JSON.stringify({ event: "project.created", timestamp, data });
  const one = () =>
    new Promise<void>((resolve, reject) => {
      const headers = {
        "x-service-signature": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`,
        "user-agent": "svc-server/0.1.0",
        "content-type": "application/json",
        "x-service-event": "project.created",
        "x-service-delivery": "dlv_01M7ZK81Z15Y5Z5SDWSRTK5DGR",
        "x-service-attempt": "1",
        "content-length": Buffer.byteLength(body),
      };
      const sent = request(url, { agent, method: "POST", headers }, (answer) => {
        answer.resume();
        answer.on("end", resolve);
      });
      sent.on("error", reject);
      sent.end(body);
    });
  return {
    close: () => agent.destroy(),
    async send() {
      let left = count;
      const worker = async () => {
        while (left-- > 0) await one();
      };
      await Promise.all(Array.from({ length: concurrency }, worker));
    },
  };
}

let names = 0;
const announce = ({ post }: Service, number: number) =>
  Promise.all(
    Array.from({ length: number }, () => post("/v1/projects", { name: `bench ${++names}`, region: "eu-west-1" })),
  );

interface Cost {
  readonly ms: number;
  readonly cpu_us: number;
}

/** The cost of some work: elapsed time, and the processor time of this process. */
async function cost(work: () => Promise<unknown>): Promise<Cost> {
  const before = process.cpuUsage();
  const ms = await timed(work);
  const { user, system } = process.cpuUsage(before);
  return { ms, cpu_us: user + system };
}

async function throughput(): Promise<Figure[]> {
  const { child, url } = await receiver();
  const outbox = await service("manual", "deliveries.db");
  await outbox.post("/v1/webhooks", { url, events: ["project.created"], secret });
  const bare = bareLoop(url);
  const ours: Cost[] = [];
  const theirs: Cost[] = [];
  for (let round = -warmUp; round < rounds; round++) {
    await announce(outbox, count);
    const [mine, least] = [await cost(() => outbox.settle()), await cost(bare.send)];
    if (round < 0) continue;
    ours.push(mine);
    theirs.push(least);
  }
  bare.close();
  await outbox.close();
  child.disconnect();
  const perSecond = (costs: readonly Cost[]) => costs.map(({ ms }) => (count * 1000) / ms);
  const ratio = (part: keyof Cost) => theirs.map((one, i) => one[part] / (ours[i]?.[part] ?? Number.NaN));
  return [
    figure("signed deliveries through the durable outbox", "a second", perSecond(ours)),
    figure("signed requests of a bare node:https loop", "a second", perSecond(theirs)),
    figure("deliveries: ratio to the bare loop", "×", ratio("ms"), { floor: 0.5, aim: 0.75 }),
    figure("deliveries: ratio to the bare loop, processor", "×", ratio("cpu_us")),
  ];
}

/** From the response after the commit of an event to the arrival of its delivery, both measured in this process. */
async function latency(): Promise<Figure> {
  const arrivals: (() => void)[] = [];
  const server = createServer(certificate(), (incoming, answer) => {
    arrivals.shift()?.();
    incoming.resume();
    answer.end();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const outbox = await service("real", "latency.db");
  const url = `https://localhost:${(server.address() as AddressInfo).port}/hook`;
  await outbox.post("/v1/webhooks", { url, events: ["project.created"], secret });
  const waited: number[] = [];
  for (let i = 0; i < 200; i++) {
    const arrived = new Promise<number>((resolve) => arrivals.push(() => resolve(performance.now())));
    await announce(outbox, 1);
    const committed = performance.now();
    waited.push(Math.max(0, (await arrived) - committed));
  }
  await outbox.close();
  server.closeAllConnections();
  server.close();
  return figure("from an event's commit to its delivery on the wire", "ms", waited.slice(20));
}

process.stdout.write(JSON.stringify([...(await throughput()), await latency()]));
