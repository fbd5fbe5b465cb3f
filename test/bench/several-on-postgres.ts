import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Client } from "pg";
import { type Figure, figure, percentile } from "./figures.ts";
import { pin } from "./processors.ts";
import { source } from "./request-body.ts";
import { type Bench, createLoad, forkServer, type Measured, ratios, type Server } from "./servers.ts";

/** One way, as between distant machines of one data centre. */
const delay_ms = 2;
const organizations = 16;
const counts = [1, 2, 4] as const;
const jobs = 2_000;
const claimers = 8;
const waits = 200;

/** Each organization has a key. */
const keyOf = (i: number) => `sk_live_bench_owner_${i}`;
const seed = JSON.stringify({
  organizations: Array.from({ length: organizations }, (_, i) => ({
    name: `bench ${i}`,
    plan: "pro",
    users: [{ name: "Ada", email: `ada@${i}.test`, role: "owner", keys: [{ name: "bench", key: keyOf(i) }] }],
    projects: [{ name: "web", region: "eu-west-1" }],
  })),
});

const authorization = (key: string) => ({ authorization: `Bearer ${key}`, "content-type": "application/json" });

async function call(url: string, key: string, method: string, path: string, body?: object) {
  const response = await fetch(url + path, {
    method,
    headers: authorization(key),
    ...(body && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as { id: string; status: string; data: { id: string }[] };
}

export const conditions = () => {
  const processors = availableParallelism();
  const places =
    processors >= 4
      ? "The database has one of them, the load another, the servers the others."
      : "The servers have one of them, the database and the load share the other: servers beside the database cannot do more than one of them here.";
  return `${processors} processors. ${places} With "${delay_ms} ms away", each byte between a server and the database takes ${delay_ms} ms longer, both ways, so that servers wait and need little processor. Changes are of ${organizations} organizations, since those of one run one after the other.`;
};

interface Databases {
  readonly near: string;
  /** A database for the claimers, which exit when no job is due. */
  readonly empty: string;
}

/** Several servers beside one database, and several behind a delay. */
export async function severalServers(
  bench: Bench,
  { near, empty }: Databases,
  encryptionKey: string,
): Promise<Figure[]> {
  const wire = fork(join(bench.built, "delay.js"), [new URL(near).port, String(delay_ms)], { execArgv: [] });
  pin(wire, "load");
  const [{ port }] = (await once(wire, "message")) as [{ port: number }];
  const far = Object.assign(new URL(near), { port: String(port) }).href;
  const load = createLoad(bench);
  const groups: Server[][] = [];
  try {
    for (const url of [near, far]) {
      const group: Server[] = [];
      groups.push(group);
      for (let i = 0; i < 4; i++)
        group.push(await forkServer(bench, `server ${i}`, url, encryptionKey, seed, "several"));
    }
    const [beside = [], away = []] = groups;
    return [
      ...(await throughput(bench, load, beside, "")),
      ...(await throughput(bench, load, away, `, ${delay_ms} ms away`)),
      ...(await waiting(beside)),
      await claimed(bench, empty),
    ];
  } finally {
    await Promise.all([load, ...groups.flat()].map((one) => one.end()));
    wire.kill();
  }
}

type Load = ReturnType<typeof createLoad>;

/** Several servers that the load treats as one. */
function together(servers: readonly Server[]): Server {
  const cpu = async () => (await Promise.all(servers.map((one) => one.cpu()))).reduce((a, b) => a + b, 0);
  return { name: "several", url: servers[0]?.url ?? "", cpu, end: async () => {} };
}

async function throughput(bench: Bench, load: Load, servers: readonly Server[], where: string): Promise<Figure[]> {
  const url = servers[0]?.url ?? "";
  const all = await Promise.all(
    Array.from({ length: organizations }, async (_, i) => {
      const key = keyOf(i);
      const [project] = (await call(url, key, "GET", "/v1/projects")).data;
      const body = { project_id: project?.id, environment: "production", source };
      const { id } = await call(url, key, "POST", "/v1/deployments", body);
      return { post: { path: "/v1/deployments", body, key }, get: { path: `/v1/deployments/${id}`, key } };
    }),
  );
  const figures: Figure[] = [];
  for (const [kind, name] of [
    ["get", "GET by id"],
    ["post", "POST a deployment"],
  ] as const) {
    const requests = all.map((one) => one[kind]);
    const rounds = counts.map((count) => ({
      server: together(servers.slice(0, count)),
      round: { requests, keys: [""], others: servers.slice(1, count).map((one) => one.url) },
      measured: [] as Measured[],
    }));
    await load.measure(together(servers), {
      requests,
      keys: [""],
      others: servers.slice(1).map((one) => one.url),
      ms: 3_000,
    });
    for (let i = 0; i < bench.rounds; i++)
      for (const one of i % 2 ? [...rounds].reverse() : rounds)
        one.measured.push(await load.measure(one.server, { ...one.round, ms: bench.ms }));
    const [alone] = rounds;
    for (const [i, { measured }] of rounds.entries()) {
      const what = `${name}${where}, ${counts[i]} ${i === 0 ? "server" : "servers"}`;
      figures.push(
        figure(
          what,
          "a second",
          measured.map(({ per_second }) => per_second),
        ),
      );
      figures.push(
        figure(
          `${what}, processor`,
          "µs",
          measured.map(({ cpu_us }) => cpu_us),
        ),
      );
      if (i > 0)
        figures.push(
          figure(
            `${what}, of one's`,
            "×",
            ratios(measured, alone?.measured ?? [], "per_second", "more"),
            where && i === 1 ? { floor: 1.6, aim: 1.9 } : undefined,
          ),
        );
    }
  }
  return figures;
}

/** From sending a change to one server until a request waiting at another server gets its response. */
async function waiting(servers: readonly Server[]): Promise<Figure[]> {
  const [one = "", two = ""] = servers.map(({ url }) => url);
  const key = keyOf(0);
  const [project] = (await call(one, key, "GET", "/v1/projects")).data;
  const order = { project_id: project?.id, environment: "waits", source };
  const took: number[] = [];
  const after: number[] = [];
  for (let i = 0; i < waits; i++) {
    const { id } = await call(one, key, "POST", "/v1/deployments", order);
    const waited = call(two, key, "GET", `/v1/deployments/${id}?wait=60`).then(({ status }) => {
      if (status !== "cancelled") throw new Error(`the request waited for ${status}`);
      return performance.now();
    });
    // Gives the waiting request above time to start.
    for (let pause = 0; pause < 3; pause++) await call(two, key, "GET", `/v1/deployments/${id}`);
    const from = performance.now();
    const cancelled = call(one, key, "POST", `/v1/deployments/${id}/cancel`).then(() => performance.now());
    const [answered, committed] = await Promise.all([waited, cancelled]);
    took.push(answered - from);
    after.push(answered - committed);
  }
  const name = "?wait= at another server";
  return [
    figure(`${name}, from the sending of the change, median`, "ms", [percentile(took, 0.5)]),
    figure(`${name}, from the sending of the change, 99th percentile`, "ms", [percentile(took, 0.99)]),
    figure(`${name}, from the sending of the change, the longest`, "ms", [Math.max(...took)]),
    // The commit happens shortly before its response.
    figure(`${name}, after the answer of the change, 99th percentile`, "ms", [percentile(after, 0.99)], {
      floor: 100,
      aim: 50,
    }),
  ];
}

/** Empty jobs, run by claimers in their own processes; throws unless each job ran exactly once. */
async function claimed({ built }: Bench, url: string): Promise<Figure> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const children = Array.from({ length: claimers }, () => {
    const child: ChildProcess = spawn(process.execPath, [join(built, "claimers.js"), url, "1"], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    pin(child, "several");
    const lines = child.stdout ? createInterface({ input: child.stdout })[Symbol.asyncIterator]() : undefined;
    const next = async () => String((await lines?.next())?.value);
    return { child, next };
  });
  try {
    for (const { next } of children) if ((await next()) !== "ready") throw new Error("a claimer did not start");
    await client.query(`insert into jobs (id, kind, args, state, run_at, attempt, failures, crashes, strikes)
      select 'job_' || lpad(i::text, 26, '0'), 'tests.work', json_build_object('name', 'job ' || i)::text, 'waiting',
        '2026-01-01T00:00:00.000Z', 0, 0, 0, 0 from generate_series(1, ${jobs}) as i`);
    const from = performance.now();
    for (const { child } of children) child.stdin?.write("go");
    const ran = (await Promise.all(children.map(async ({ next }) => JSON.parse(await next()) as string[][]))).flat(2);
    const seconds = (performance.now() - from) / 1_000;
    if (ran.length !== jobs || new Set(ran).size !== jobs) throw new Error(`${ran.length} runs of ${jobs} jobs`);
    return figure(`jobs by ${claimers} claimers, ${jobs.toLocaleString("en")} exactly once each`, "a second", [
      jobs / seconds,
    ]);
  } finally {
    for (const { child } of children) child.kill();
    await client.end();
  }
}
