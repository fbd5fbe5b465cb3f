import type { ChildProcess } from "node:child_process";
import { cpSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { createService } from "../../lib/index.ts";
import { createRandom, type Random } from "../../lib/kernel/random.ts";
import { unfinished } from "../helpers/invariants.ts";
import { seed as people } from "../helpers/test-service.ts";
import { createFacts, type Facts, parseFacts } from "./facts.ts";
import { startReceivers } from "./receivers.ts";
import { inLanes, type Report, type Size } from "./report.ts";
import { databaseIn, ended, type Place, textOf } from "./server.ts";

/** The number of kills of one database, one process after the other. */
const killsOfDatabase = 10;
/** The number of servers in one process, killed together: starting a process is the most expensive step. */
const serversOfProcess = 16;

export const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Time of a process on a core, in milliseconds; on a busy machine less than the elapsed time. */
function busyTime({ pid }: ChildProcess): number {
  const text = textOf(`/proc/${pid}/schedstat`);
  return text ? Number(text.split(" ", 1)[0]) / 1e6 : performance.now();
}

/** Waits until a process has used so much processor time. */
export async function workFor(child: ChildProcess, ms: number): Promise<void> {
  const begun = busyTime(child);
  while (child.exitCode === null && busyTime(child) - begun < ms) await pause(3);
}

/**
 * Kills servers at a random moment: one time in ten during their start, else within their first half second of work.
 */
async function killAtRandom(child: ChildProcess, random: Random): Promise<string> {
  const end = ended(child);
  const early = random.fraction() < 0.1;
  if (!early) await new Promise((resolve) => child.stdout?.once("data", resolve));
  await workFor(child, random.fraction() * 500);
  child.kill("SIGKILL");
  return (await end).output;
}

/**
 * Copies the files after a crash, so that reading them changes nothing for the next start. Leaves out the index of the
 * WAL.
 */
export function copyOf(folder: string): string {
  const copy = `${folder}-copy`;
  rmSync(copy, { recursive: true, force: true });
  cpSync(folder, copy, { recursive: true, filter: (path) => !path.endsWith("-shm") });
  return copy;
}

/** Reads the facts noted since the last call. */
function readFacts(facts: Facts, folder: string, before: number): number {
  const all = parseFacts(textOf(join(folder, "acks")));
  for (const fact of all.slice(before)) facts.add(fact);
  return all.length;
}

/** Runs the remaining work on a manual clock, and returns the work that did not end. */
async function finish(folder: string, receivers: Awaited<ReturnType<typeof startReceivers>>): Promise<string[]> {
  receivers.calm();
  const database = databaseIn(folder);
  const clock = `manual@${new Date(Date.now() + 60_000).toISOString()}`;
  const service = await createService({ database, seed: people, clock, logLevel: "silent" });
  await service.clock.advance("4h");
  const broken = (await service.invariants()).map((one) => JSON.stringify(one));
  await service.close();
  const raw = new Database(database, { readonly: true });
  const left = unfinished(raw).map((row) => `work is left: ${JSON.stringify(row)}`);
  const bad = raw.prepare(
    `select d.id, d.status, d.tries from deliveries d join endpoints e on e.id = d.endpoint_id
     where d.status not in ('succeeded', 'skipped') and not (d.status = 'abandoned' and d.rung = 6)
       and not (d.status = 'pending' and d.epoch < e.epoch)`,
  );
  const succeeded = raw.prepare("select id from deliveries where status = 'succeeded'").pluck().all() as string[];
  const unsent = bad.all().map((row) => `a delivery has not ended: ${JSON.stringify(row)}`);
  raw.close();
  return [...broken, ...left, ...unsent, ...receivers.missing(succeeded), ...receivers.wrong];
}

/** A database that is killed repeatedly. */
interface Target {
  readonly folder: string;
  readonly facts: Facts;
  /** The number of its facts read so far. */
  read: number;
}

/** Random kills of servers under load. After each kill, every acknowledged change is there and no rule is broken. */
export async function kills(place: Place, { count, seed, until, progress }: Size): Promise<Report> {
  const done = { kills: 0, acknowledged: 0, databases: 0 };
  const figures = (losses: number) =>
    `${done.kills} random kills of ${done.databases} databases, ${done.acknowledged} acknowledged changes: ${losses} lost`;

  const round = async (targets: readonly Target[], name: string, random: Random, receiver: string) => {
    const folders = targets.map(({ folder }) => folder);
    const output = await killAtRandom(place.load(folders, { seed: name, writers: 6, projects: 0, receiver }), random);
    const wrong = /wrong|refused/.test(output) ? [output] : [];
    for (const target of targets) {
      const { folder, facts } = target;
      target.read = readFacts(facts, folder, target.read);
      if (existsSync(databaseIn(folder))) wrong.push(...facts.losses(databaseIn(copyOf(folder))));
      done.kills += 1;
    }
    return wrong;
  };
  const batch = (number: number, servers: number, rounds: number) => async (): Promise<string[]> => {
    const name = `${seed} ${number}`;
    const random = createRandom(name);
    const receivers = await startReceivers(random);
    const targets = Array.from({ length: servers }, (_, server): Target => {
      const folder = join(place.folder, `kills-${number}-${server}`);
      mkdirSync(folder);
      return { folder, facts: createFacts(), read: 0 };
    });
    const wrong: string[] = [];
    for (let kill = 0; kill < rounds && wrong.length === 0 && performance.now() < until; kill++) {
      wrong.push(...(await round(targets, `${name} ${kill}`, random, receivers.url)));
      progress(figures(wrong.length));
    }
    for (const { folder, facts } of targets) {
      if (wrong.length === 0) wrong.push(...(await finish(folder, receivers)), ...facts.losses(databaseIn(folder)));
      done.acknowledged += facts.acknowledged;
      done.databases += 1;
      for (const end of ["", "-copy"]) rmSync(folder + end, { recursive: true, force: true });
    }
    await receivers.close();
    return wrong.map((line) => `batch ${number} of seed ${seed}: ${line}`);
  };

  // Few kills go to few databases, so that each database is still killed repeatedly.
  const servers = Math.min(serversOfProcess, Math.ceil(count / 5));
  const rounds = Math.min(killsOfDatabase, Math.ceil(count / servers));
  const batches = Array.from({ length: Math.ceil(count / servers / rounds) }, (_, number) => number);
  const wrong = await inLanes(
    2,
    until,
    batches.map((number) => batch(number, servers, rounds)),
  );
  return { figures: figures(wrong.length), wrong };
}
