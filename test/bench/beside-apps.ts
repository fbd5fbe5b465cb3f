import { execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { createService } from "../../lib/index.ts";
import { type Figure, figure, repeated } from "./figures.ts";
import type { Loaded, Round } from "./load.ts";

/** Response times of the service while apps of the runtime `process` use all the resources they may. */
const [folder = ""] = process.argv.slice(2);
const key = "sk_live_demo_bench";
const rounds = 3;
/** How often a rate in a box is compared with one outside, in each round. */
const pairs = 5;
const calls = { x64: [291, 233], arm64: [20, 21] }[process.arch as "x64"] ?? [0, 0];

/** Start commands of apps that use resources until they are stopped. */
const greed = {
  "eight busy loops and a flood of log lines":
    "for i in 1 2 3 4 5 6 7 8; do (while :; do :; done) & done; yes & exec node server.js",
  "watches of epoll without end": "while :; do perl epoll.pl; done & exec node server.js",
} as const;
const epoll = `my @fds = map { my @p; pipe($p[0], $p[1]); @p } 1..1000; for (1..2000) { my $e = syscall(${calls[0]}, 0);
for my $fd (@fds) { syscall(${calls[1]}, $e, 1, fileno($fd), pack("LQ", 1, 0)) == 0 or exit 7 } }`;
const server = `require("node:http").createServer((_, r) => r.end("up")).listen(process.env.PORT, process.env.HOST);`;

function commit(name: string, start: string): void {
  const at = join(folder, "greedy/acme", name);
  mkdirSync(at, { recursive: true });
  const files = { "svc.json": JSON.stringify({ start }), "server.js": server, "epoll.pl": epoll };
  for (const [file, text] of Object.entries(files)) writeFileSync(join(at, file), text);
  for (const words of [
    ["init", "--quiet", "--initial-branch=main"],
    ["add", "--all"],
    ["commit", "--quiet", "--allow-empty", "--message", name],
  ])
    execFileSync("git", ["-c", "user.name=b", "-c", "user.email=b@acme.test", ...words], { cwd: at, stdio: "pipe" });
}

/** The 99th percentile of response times, on four connections from another process. */
async function p99(url: string, path: string, headers: Record<string, string> = {}): Promise<number> {
  const sender = fork(join(import.meta.dirname, "load.js"), [], { execArgv: [] });
  const round: Round = { url, ms: 2_000, connections: 4, requests: [{ path }], keys: [key], headers };
  sender.send(round);
  const [{ p99_ms }] = (await once(sender, "message")) as [Loaded];
  sender.send("end");
  return p99_ms;
}

/** What the box costs an app: requests a second through the proxy, and the time of a restart, with it and without. */
async function costOfBox(): Promise<Figure[]> {
  const sides = [];
  for (const isolation of ["bubblewrap", "none"] as const) {
    const service = await begin(isolation, join(folder, `${isolation}.db`));
    const { environment } = await deploy(service, "plain", "node server.js");
    sides.push({ service, environment, restarts: [] as number[] });
  }
  const headers = { host: "production-plain.localhost" };
  const sender = fork(join(import.meta.dirname, "load.js"), [], { execArgv: [] });
  const rate = async (service: Service): Promise<number> => {
    const url = service.appsUrl ?? "";
    sender.send({ url, ms: 1_000, requests: [{ path: "/" }], keys: ["none"], headers } satisfies Round);
    return ((await once(sender, "message")) as [Loaded])[0].per_second;
  };
  const ratios: number[] = [];
  // The first round only warms up.
  for (let round = 0; round < rounds + 1; round++) {
    for (const { service, environment, restarts } of sides) {
      const taken = await repeated(5, () => call(service, "POST", `${environment}/restart`));
      if (round > 0) restarts.push(...taken);
    }
    // The rate of the machine changes from second to second, so each rate is compared with those around it.
    const [boxed, bare] = sides.map(({ service }) => service) as [Service, Service];
    let before = await rate(bare);
    for (let pair = 0; pair < pairs; pair++) {
      const within = await rate(boxed);
      const after = await rate(bare);
      if (round > 0) ratios.push((2 * within) / (before + after));
      before = after;
    }
  }
  sender.send("end");
  for (const { service } of sides) await service.close();
  const [boxed, bare] = sides.map(({ restarts }) => figure("", "ms", restarts).median) as [number, number];
  return [
    figure("requests a second to an app in its box, of one without", "", ratios, { floor: 0.9, aim: 1 }),
    figure("the box's part of a restart of an app", "ms", [boxed - bare], { floor: 60, aim: 30 }),
    figure("a restart without the box", "ms", [bare]),
  ];
}

const begin = (isolation: "bubblewrap" | "none", database: string) =>
  createService({
    ...{ database, key, rateLimit: 1e9, logLevel: "error", apps: { port: 0 } },
    codeHost: { repos: join(folder, "greedy") },
    deployments: { runtime: "process", isolation },
  });
type Service = Awaited<ReturnType<typeof begin>>;

async function call(service: Service, method: string, path: string, body?: object) {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const response = await service.fetch(path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as { id: string; status: string };
}

/** Deploys an app and returns the path of its environment, and a function that stops the app. */
async function deploy(service: Service, name: string, start: string) {
  commit(name, start);
  const { id: project_id } = await call(service, "POST", "/v1/projects", { name, region: "eu-west-1" });
  const source = { type: "git", repo: `acme/${name}` };
  const { id } = await call(service, "POST", "/v1/deployments", { project_id, environment: "production", source });
  const { status } = await call(service, "GET", `/v1/deployments/${id}?wait=60`);
  if (status !== "active") throw new Error(`the app ${name} ended as ${status}`);
  const environment = `/v1/projects/${project_id}/environments/production`;
  const headers = { authorization: `Bearer ${key}` };
  return { environment, stop: () => service.fetch(environment, { method: "DELETE", headers }) };
}

async function bench(): Promise<Figure[]> {
  const load = loadavg()[0] ?? 0;
  mkdirSync(join(folder, "greedy/acme"), { recursive: true });
  const service = await begin("bubblewrap", join(folder, "beside.db"));
  const { url } = await service.listen({ port: 0 });
  await p99(url, "/v1/me");
  const figures: Figure[] = [];
  for (const [i, [name, start]] of Object.entries(greed).entries()) {
    const ratios: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const idle = await p99(url, "/v1/me");
      const { stop } = await deploy(service, `greedy${i}${round}`, start);
      ratios.push((await p99(url, "/v1/me")) / idle);
      await stop();
    }
    figures.push(figure(`p99 of GET /v1/me beside ${name}, of the idle one`, "", ratios, { floor: 3, aim: 2 }));
  }
  await service.close();
  return [...figures, ...(await costOfBox()), figure("load of the machine before", "", [load])];
}

process.stdout.write(JSON.stringify(await bench()));
