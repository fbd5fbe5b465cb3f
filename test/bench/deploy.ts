import { execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { createService } from "../../lib/index.ts";
import { bareProxy } from "./bare-proxy.ts";
import { engineFigures } from "./deploy-engine.ts";
import { pushes, pushGoal } from "./deploy-push.ts";
import { type Figure, figure, repeated, timed } from "./figures.ts";
import type { Loaded, Round } from "./load.ts";

/**
 * Deployments that run for real, with the runtime `process` and its sandbox, and with `engine` where Docker Engine is
 * available. Git repositories are on the same disk. Each app stores data and has a worker.
 */
const [folder = "", role = "bench"] = process.argv.slice(2);
const repos = join(folder, "repos");
const host = "production-web0.localhost";
const key = "sk_live_demo_bench";
/** The load goes on until both numbers are reached. */
const switches = 20;
const requests = 10_000;

const start = () => {
  mkdirSync(repos, { recursive: true });
  return createService({
    database: join(folder, "deploy.db"),
    seed: {
      organizations: [
        {
          name: "acme",
          users: [{ name: "bench", email: "bench@acme.test", role: "owner", keys: [{ name: "bench", key }] }],
        },
      ],
    },
    rateLimit: 1e9,
    logLevel: "error",
    apps: { port: 0 },
    codeHost: { repos },
    deployments: { runtime: "process" },
  });
};
type Service = Awaited<ReturnType<typeof start>>;

function commit(name: string, version: string, build?: string): void {
  const at = join(repos, name);
  mkdirSync(at, { recursive: true });
  const git = (...words: string[]) =>
    execFileSync("git", ["-c", "user.name=b", "-c", "user.email=b@acme.test", ...words], { cwd: at, stdio: "pipe" });
  git("init", "--quiet", "--initial-branch=main");
  const listens = `.listen(process.env.PORT, process.env.HOST)`;
  const answers = `(q, r) => r.end(q.url === "/port" ? process.env.PORT : "${version}")`;
  const keeps = `require("node:fs").appendFileSync(process.env.DATA_DIR + "/starts", "${version} ");`;
  writeFileSync(join(at, "server.js"), `${keeps}\nrequire("node:http").createServer(${answers})${listens};\n`);
  const works = `const { writeFileSync } = require("node:fs");
setInterval(() => writeFileSync(process.env.DATA_DIR + "/worked", String(Date.now())), 100);
`;
  writeFileSync(join(at, "worker.js"), works);
  writeFileSync(join(at, "Procfile"), "web: node server.js\nworker: node worker.js\n");
  writeFileSync(
    join(at, "package.json"),
    JSON.stringify({ scripts: { ...(build && { build }), start: "node server.js" } }),
  );
  git("add", "--all");
  git("commit", "--quiet", "--message", version);
}

/** Sends a request to the first app; returns the status and the body. */
const ask = (url: string, path = "/") =>
  new Promise<string>((resolve) => {
    const headers = { host };
    request({ host: "127.0.0.1", port: new URL(url).port, path, headers }, async (response) => {
      let text = `${response.statusCode} `;
      for await (const chunk of response) text += chunk;
      resolve(text);
    })
      .on("error", ({ message }) => resolve(message))
      .end();
  });

function client(service: Service) {
  const call = async (method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const response = await service.fetch(path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as { id: string; status: string };
  };
  const ended = async ({ id }: { id: string }) => {
    const { status } = await call("GET", `/v1/deployments/${id}?wait=60`);
    if (status !== "active") throw new Error(`a deployment ended as ${status}`);
    return id;
  };
  return {
    call,
    project: async (name: string) => (await call("POST", "/v1/projects", { name, region: "eu-west-1" })).id,
    deploy: (project_id: string, repo: string) =>
      call("POST", "/v1/deployments", {
        project_id,
        environment: "production",
        source: { type: "git", repo: `acme/${repo}` },
      }),
    ended,
    rollback: async (id: string) => ended(await call("POST", `/v1/deployments/${id}/rollback`)),
  };
}
type Client = ReturnType<typeof client>;

const sum = (rounds: readonly Loaded[]) => rounds.reduce((all, one) => all + one.requests, 0);

/** Sends load to `url` from another process while `work` runs. `work` can read the number of requests sent so far. */
async function underLoad(url: string, ms: number, work: (sent: () => number) => Promise<unknown>): Promise<Loaded[]> {
  const sender = fork(join(import.meta.dirname, "load.js"), [], { execArgv: [] });
  const round: Round = { url, ms, requests: [{ path: "/" }], keys: ["none"], headers: { host } };
  const ended = once(sender, "exit").then(() => Promise.reject(new Error("a request failed")));
  ended.catch(() => {});
  const answer = async () => ((await once(sender, "message")) as [Loaded])[0];
  const all: Loaded[] = [];
  let isOver = false;
  const sending = (async () => {
    do {
      sender.send(round);
      all.push(await Promise.race([answer(), ended]));
    } while (!isOver);
  })();
  await Promise.all([
    sending,
    work(() => sum(all)).finally(() => {
      isOver = true;
    }),
  ]);
  sender.send("end");
  return all;
}

async function proxyRatio(url: string): Promise<number[]> {
  const bare = await bareProxy(Number((await ask(url, "/port")).slice(4)));
  const ratios: number[] = [];
  for (let i = 0; i < 6; i++) {
    const rate = async (to: string) => (await underLoad(to, 700, async () => {}))[0]?.per_second ?? 0;
    const ratio = (await rate(url)) / (await rate(bare.url));
    if (i > 0) ratios.push(ratio);
  }
  bare.close();
  return ratios;
}

const running = (mark: string) =>
  readdirSync("/proc").some((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(mark);
    } catch {
      return false;
    }
  });

async function cancels(here: Client, project: string): Promise<number[]> {
  const took: number[] = [];
  for (let i = 0; i < 5; i++) {
    const mark = `9${process.pid}${i}`;
    commit("acme/slow", `slow${i}`, `sleep ${mark}`);
    const { id } = await here.deploy(project, "slow");
    while (!running(`sleep\0${mark}`)) await pause(20);
    took.push(
      await timed(async () => {
        await here.call("POST", `/v1/deployments/${id}/cancel`);
        while (running(mark)) await pause(5);
      }),
    );
  }
  return took;
}

/** From the start of a process whose predecessor was killed until the app responds. */
async function revivals(): Promise<number[]> {
  const took: number[] = [];
  for (let i = 0; i < 4; i++) {
    const from = performance.now();
    const child = fork(process.argv[1] ?? "", [folder, "serve"], { execArgv: [] });
    const [url] = (await once(child, "message")) as [string];
    while (!(await ask(url)).startsWith("200 ")) await pause(5);
    if (i > 0) took.push(performance.now() - from);
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  return took;
}

async function bench(): Promise<Figure[]> {
  const load = loadavg()[0] ?? 0;
  const service = await start();
  const here = client(service);
  const url = service.appsUrl ?? "";
  const projects: string[] = [];
  const live = await repeated(5, async (i) => {
    commit(`acme/web${i}`, "one");
    projects.push(await here.project(`web${i}`));
    await here.ended(await here.deploy(projects[i] ?? "", `web${i}`));
  });
  const project = projects[0] ?? "";
  commit("acme/web0", "two");
  let id = await here.ended(await here.deploy(project, "web0"));
  const back = async () => {
    id = await here.rollback(id);
  };
  const idle = await repeated(7, back);
  const loaded: number[] = [];
  const rounds = await underLoad(url, 500, async (sent) => {
    while (loaded.length < switches || sent() < requests) loaded.push(await timed(back));
  });
  const ratios = await proxyRatio(url);
  const cancelled = await cancels(here, await here.project("slow"));
  const { deployed, pushed, gone } = await pushes(service, { folder, key, project_id: project });
  await service.close();
  return [
    figure("a small Node app, from the POST to live", "ms", live, { floor: 1_000, aim: 700 }),
    figure("rollback to a kept release", "ms", idle, { floor: 200, aim: 110 }),
    figure(`the same under load, ${loaded.length} switches`, "ms", loaded),
    figure("requests during those switches, 0 failed", "", [sum(rounds)], { floor: requests, aim: 20_000 }),
    figure("requests a second through the proxy, of a bare loop's", "", ratios, { floor: 0.5, aim: 0.7 }),
    figure("`svc-server deploy` of a small Node app, from its start to its end", "ms", deployed, pushGoal),
    figure("a push of a small Node app, from its start to its end", "ms", pushed, pushGoal),
    figure("from the close of a request until its preview no longer answers", "ms", gone, {
      floor: 5_000,
      aim: 1_000,
    }),
    figure("cancel of a build until its processes are gone", "ms", cancelled, { floor: 1_000, aim: 300 }),
    figure("start after kill -9 until the app answers", "ms", await revivals(), { floor: 2_000, aim: 1_000 }),
    ...(await engineFigures()),
    figure("load of the machine before", "", [load]),
  ];
}

if (role === "serve") process.send?.((await start()).appsUrl);
else process.stdout.write(JSON.stringify(await bench()));
