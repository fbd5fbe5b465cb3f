import { type ChildProcess, execFileSync, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { type Figure, figure, timed } from "./figures.ts";
import { type Bench, createLoad, type Rows, requests } from "./servers.ts";

const root = resolve(import.meta.dirname, "../..");
const times = 7;
const manyRequests = 100_000;

interface Started {
  readonly child: ChildProcess;
  readonly url: string;
  /** From the start of the process to its first response. */
  readonly ms: number;
}

/** The packed program and the limit, each on the same database: the time until the first page of rows. */
async function cold(child: ChildProcess, address: Promise<string>, key: string): Promise<Started> {
  const from = performance.now();
  const url = await address;
  const response = await fetch(`${url}/v1/deployments`, { headers: { authorization: `Bearer ${key}` } });
  if (!response.ok) throw new Error(`the first answer was ${response.status}`);
  await response.arrayBuffer();
  return { child, url, ms: performance.now() - from };
}

function program(file: string, key: string): Promise<Started> {
  const words = [
    "start",
    "--database",
    file,
    "--port",
    "0",
    "--json",
    "--log-level",
    "error",
    "--rate-limit",
    "1000000000",
  ];
  const child = spawn(process.execPath, [join(root, "dist/bin/svc-server.js"), ...words], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const first = once(createInterface({ input: child.stdout }), "line") as Promise<[string]>;
  return cold(
    child,
    first.then(([line]) => (JSON.parse(line) as { url: string }).url),
    key,
  );
}

function limit(built: string, file: string, key: string): Promise<Started> {
  const child = fork(join(built, "limit.js"), [file, "group"], { execArgv: [] });
  const message = once(child, "message") as Promise<[{ url: string }]>;
  return cold(
    child,
    message.then(([{ url }]) => url),
    key,
  );
}

/** Resident memory, in MB. */
const memory = ({ child }: Started) =>
  (Number(execFileSync("ps", ["-o", "rss=", "-p", String(child.pid)], { encoding: "utf8" })) * 1024) / 1e6;

async function stop({ child }: Started): Promise<void> {
  const exit = once(child, "exit");
  child.kill();
  await exit;
}

/** The package as users install it: time to the first response, memory, and size. Needs `npm run build`. */
export async function packed(bench: Bench, rows: Rows): Promise<Figure[]> {
  if (!existsSync(join(root, "dist/bin/svc-server.js"))) {
    process.stderr.write("the packed program is not measured: nothing is built; run npm run build first\n");
    return [];
  }
  const file = join(bench.folder, "packed.db");
  copyFileSync(rows.file, file);
  copyFileSync(`${rows.file}.key`, `${file}.key`);
  const ours: number[] = [];
  const theirs: number[] = [];
  const held: number[] = [];
  for (let i = 0; i < times; i++) {
    const mine = await program(file, rows.key);
    ours.push(mine.ms);
    held.push(memory(mine));
    await stop(mine);
    const other = await limit(bench.built, file, rows.key);
    theirs.push(other.ms);
    await stop(other);
  }
  const [pack] = JSON.parse(
    execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
      cwd: root,
      encoding: "utf8",
      stdio: "pipe",
    }),
  ) as [{ size: number }];
  return [
    await addedByExec(),
    figure("the packed program: from its start to its first answer", "ms", ours),
    figure("the limit: from its start to its first answer", "ms", theirs),
    figure(
      "first answer: ratio to the limit",
      "×",
      ours.map((ms, i) => ms / (theirs[i] ?? Number.NaN)),
      { floor: 2.5, aim: 1.5 },
    ),
    figure("memory after the start", "MB", held, { floor: 90, aim: 65 }),
    figure(`memory after ${manyRequests.toLocaleString("en")} requests`, "MB", [await busy(bench, file, rows)]),
    figure("the package, without its dependencies", "MB", [pack.size / 1e6], { floor: 1, aim: 1 }),
  ];
}

/** What `svc-server exec` adds to a command that does nothing: each pair of runs gives one difference. */
async function addedByExec(): Promise<Figure> {
  const nothing = ["-e", "0"];
  const run = (words: readonly string[]) => timed(() => execFileSync(process.execPath, words, { stdio: "inherit" }));
  const around = [join(root, "dist/bin/svc-server.js"), "exec", "--", process.execPath, ...nothing];
  const added: number[] = [];
  for (let i = 0; i < times; i++) added.push((await run(around)) - (await run(nothing)));
  return figure("svc-server exec, added to a command", "ms", added, { floor: 500, aim: 500 });
}

async function busy(bench: Bench, file: string, rows: Rows): Promise<number> {
  const started = await program(file, rows.key);
  const load = createLoad(bench);
  const server = { name: "packed", url: started.url, cpu: async () => Number.NaN, end: async () => {} };
  const round = { requests: requests.mix(rows), keys: rows.keys, ms: 1_000 };
  for (let sent = 0; sent < manyRequests; ) sent += (await load.measure(server, round)).requests;
  const held = memory(started);
  await load.end();
  await stop(started);
  return held;
}
