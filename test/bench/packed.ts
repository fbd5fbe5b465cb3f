import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { type Figure, figure, timed } from "./figures.ts";
import {
  type Bench,
  copyOf,
  createLoad,
  type Program,
  packedProgram,
  type Rows,
  requests,
  startLimit,
  startPacked,
} from "./servers.ts";

const times = 7;
const manyRequests = 100_000;

/** Milliseconds from the start of a program to the end of its first response, a page of rows. */
async function cold(start: () => Promise<Program>, key: string): Promise<Program & { readonly ms: number }> {
  const from = performance.now();
  const started = await start();
  const response = await fetch(`${started.url}/v1/deployments`, { headers: { authorization: `Bearer ${key}` } });
  if (!response.ok) throw new Error(`the first answer was ${response.status}`);
  await response.arrayBuffer();
  return { ...started, ms: performance.now() - from };
}

/** Resident memory, in MB. */
const memory = ({ child }: Program) =>
  (Number(execFileSync("ps", ["-o", "rss=", "-p", String(child.pid)], { encoding: "utf8" })) * 1024) / 1e6;

/** The package as users install it: time to the first response, memory, and size. Needs `npm run build`. */
export async function packed(bench: Bench, rows: Rows): Promise<Figure[]> {
  const file = copyOf(bench, rows, "packed");
  const limit = join(bench.folder, "packed-limit.db");
  await (await startLimit(bench, limit, rows.file)).end();
  const ours: number[] = [];
  const theirs: number[] = [];
  const held: number[] = [];
  for (let i = 0; i < times; i++) {
    const mine = await cold(() => startPacked(file), rows.key);
    ours.push(mine.ms);
    held.push(memory(mine));
    await mine.end();
    const other = await cold(() => startLimit(bench, limit), rows.key);
    theirs.push(other.ms);
    await other.end();
  }
  const [pack] = JSON.parse(
    execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
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
      { floor: 2.3, aim: 1.8 },
    ),
    figure("memory after the start", "MB", held, { floor: 65, aim: 55 }),
    figure(`memory after ${manyRequests.toLocaleString("en")} requests`, "MB", [await busy(bench, file, rows)], {
      floor: 110,
      aim: 90,
    }),
    figure("the package, without its dependencies", "MB", [pack.size / 1e6], { floor: 1, aim: 1 }),
  ];
}

/** The time that `svc-server exec` adds to a command that does nothing. Each pair of runs gives one difference. */
async function addedByExec(): Promise<Figure> {
  const nothing = ["-e", "0"];
  const run = (words: readonly string[]) => timed(() => execFileSync(process.execPath, words, { stdio: "inherit" }));
  const around = [packedProgram(), "exec", "--", process.execPath, ...nothing];
  const added: number[] = [];
  for (let i = 0; i < times; i++) added.push((await run(around)) - (await run(nothing)));
  return figure("svc-server exec, added to a command", "ms", added, { floor: 500, aim: 500 });
}

async function busy(bench: Bench, file: string, rows: Rows): Promise<number> {
  const started = await startPacked(file);
  const load = createLoad(bench);
  const round = { requests: requests.mix(rows), keys: rows.keys, ms: 1_000 };
  for (let sent = 0; sent < manyRequests; ) sent += (await load.measure(started, round)).requests;
  const held = memory(started);
  await Promise.all([load.end(), started.end()]);
  return held;
}
