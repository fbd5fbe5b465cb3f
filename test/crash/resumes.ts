import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { createRandom } from "../../lib/kernel/random.ts";
import { copyOf, pause, workFor } from "./kills.ts";
import { startReceivers } from "./receivers.ts";
import type { Report, Size } from "./report.ts";
import { databaseIn, ended, type Place } from "./server.ts";

/** The number of kills of one database. */
const killsOfDatabase = 10;
/** Work that has not resumed by then counts as lost. */
const longest_ms = 60_000;

interface Job {
  readonly id: string;
  readonly attempt: number;
}

/** The jobs that a kill interrupted, or that were due and not started. */
function cutOff(database: string): Job[] {
  const raw = new Database(database, { readonly: true });
  const now = new Date().toISOString();
  const jobs = raw.prepare("select id, attempt from jobs where state = 'running' or run_at <= ?").all(now) as Job[];
  raw.close();
  return jobs;
}

/**
 * Waits until each of these jobs has started again. Returns the milliseconds that each took, counted from this call.
 */
async function resumed(database: string, jobs: readonly Job[]): Promise<number[]> {
  const begun = performance.now();
  const raw = new Database(database, { readonly: true });
  const find = raw.prepare("select attempt from jobs where id = ?").pluck();
  const took: number[] = [];
  let left = [...jobs];
  while (left.length > 0 && performance.now() - begun < longest_ms) {
    const waits = left.filter(({ id, attempt }) => find.get(id) === attempt);
    for (let i = waits.length; i < left.length; i++) took.push(performance.now() - begun);
    left = waits;
    if (left.length > 0) await pause(2);
  }
  raw.close();
  return took;
}

/** A quantile of a sorted list. */
const quantile = (sorted: readonly number[], part: number) =>
  Math.round(sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? 0);

/**
 * Time from the readiness of the next start until the interrupted work resumes. Unlike in `kills`, one server runs at a
 * time, and its work must resume before the next kill.
 */
export async function resumes(place: Place, { count, seed, until, progress }: Size): Promise<Report> {
  const random = createRandom(seed);
  const receivers = await startReceivers(random);
  const took: number[] = [];
  const wrong: string[] = [];
  let kills = 0;
  const figures = () => {
    const sorted = took.toSorted((a, b) => a - b);
    const [median, late, last] = [0.5, 0.99, 1].map((part) => quantile(sorted, part));
    return `${kills} kills cut off ${took.length} jobs; they went on ${median} ms (median), ${late} ms (99th percentile) and ${last} ms (last) after the readiness of the next start`;
  };
  while (kills < count && wrong.length === 0 && performance.now() < until) {
    const folder = join(place.folder, `resumes-${kills}`);
    mkdirSync(folder);
    let jobs: Job[] = [];
    for (let kill = 0; kill < killsOfDatabase && kills < count && wrong.length === 0; kill++) {
      const child = place.load([folder], {
        seed: `${seed} ${kills}`,
        writers: 6,
        projects: 0,
        receiver: receivers.url,
      });
      const end = ended(child);
      await new Promise((resolve) => child.stdout?.once("data", resolve));
      const times = await resumed(databaseIn(folder), jobs);
      took.push(...times);
      if (times.length < jobs.length) wrong.push(`${jobs.length - times.length} of ${jobs.length} jobs did not go on`);
      await workFor(child, random.fraction() * 500);
      child.kill("SIGKILL");
      const { output } = await end;
      if (/wrong|refused/.test(output)) wrong.push(output);
      jobs = cutOff(databaseIn(copyOf(folder)));
      kills += 1;
      progress(figures());
    }
    for (const ending of ["", "-copy"]) rmSync(folder + ending, { recursive: true, force: true });
  }
  await receivers.close();
  return { figures: figures(), wrong };
}
