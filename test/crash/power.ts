import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createRandom } from "../../lib/kernel/random.ts";
import { Disk, filesIn, readCalls } from "./disk.ts";
import { createFacts, type Facts, parseFacts } from "./facts.ts";
import type { Report, Size } from "./report.ts";
import { databaseIn, ended, type Place } from "./server.ts";

type Synchronous = "FULL" | "NORMAL";
/** The number of power cuts at each moment: the first loses all unsynced changes, the others keep some of them. */
const trials = 3;

interface Found {
  /** The number of states checked. */
  states: number;
  /** The states that lack acknowledged changes, or are damaged, each with its first sentence. */
  readonly bad: string[];
  readonly damaged: string[];
}

/** Runs the load under the shim and returns all calls that changed its files. */
async function record(place: Place, name: string, seed: string, synchronous: Synchronous) {
  const folder = join(place.folder, name);
  const log = join(place.folder, `${name}.log`);
  mkdirSync(folder);
  const { code, output } = await ended(place.load([folder], { seed, writers: 3, projects: 8, synchronous }, { log }));
  assert.deepEqual([code, output], [0, "ready\nclosed\n"], "the load runs to its end");
  return { folder, calls: [...readCalls(readFileSync(log))] };
}

/** Checks the state after a cut, as the next start would find it, without changing the files. */
function lossesAfter(cut: string, facts: Facts): { damaged: boolean; losses: string[] } {
  try {
    // This index of the WAL belongs to an earlier cut.
    rmSync(`${databaseIn(cut)}-shm`, { force: true });
    const losses = facts.losses(databaseIn(cut));
    return { damaged: losses.some((one) => /whole|reference/.test(one)), losses };
  } catch (error) {
    return { damaged: true, losses: [(error as Error).message] };
  }
}

/** Cuts the power at moments spread over the whole run, for about `states` states. */
async function cutAll(place: Place, seed: string, synchronous: Synchronous, states: number): Promise<Found> {
  const { folder, calls } = await record(place, `power-${seed}-${synchronous}`, seed, synchronous);
  const disk = new Disk(folder);
  const facts = createFacts();
  const random = createRandom(`${seed} cuts`);
  const found: Found = { states: 0, bad: [], damaged: [] };
  const cut = join(place.folder, `cut-${seed}-${synchronous}`);
  const chance = states / trials / calls.length;
  for (const [number, call] of calls.entries()) {
    disk.apply(call);
    // One write holds the whole line.
    if (call.path.endsWith("/acks") && call.name === "write")
      for (const fact of parseFacts(String(call.bytes))) facts.add(fact);
    if (random.fraction() > chance) continue;
    for (let trial = 0; trial < trials; trial++) {
      disk.cut(cut, trial === 0 ? undefined : random);
      const { damaged, losses } = lossesAfter(cut, facts);
      found.states += 1;
      const [first] = losses;
      if (first !== undefined)
        (damaged ? found.damaged : found.bad).push(
          `seed ${seed}, call ${number} of ${calls.length}, trial ${trial}: ${first}`,
        );
    }
  }
  rmSync(cut, { recursive: true, force: true });
  disk.copy(cut);
  assert.deepEqual(filesIn(cut), filesIn(folder), "the log of calls holds everything that the server did to its files");
  for (const gone of [cut, folder, `${folder}.log`]) rmSync(gone, { recursive: true });
  return found;
}

/** The number of states from one run of the load. */
const statesOfRun = 5000;

/**
 * Cuts the power at any call. With `synchronous=FULL` nothing acknowledged may be lost. With `NORMAL` something must be
 * lost: otherwise the simulator would detect nothing.
 */
export async function power(place: Place, { count, seed, until, progress }: Size): Promise<Report> {
  const full: Found = { states: 0, bad: [], damaged: [] };
  const wrong: string[] = [];
  const line = (mode: Synchronous, { states, bad, damaged }: Found) =>
    `${states} power cuts with ${mode}: ${bad.length} lost something, ${damaged.length} left damage`;
  for (let run = 0; full.states < count && wrong.length === 0 && performance.now() < until; run++) {
    const most = Math.min(statesOfRun, count - full.states);
    const { states, bad, damaged } = await cutAll(place, `${seed}.${run}`, "FULL", most);
    full.states += states;
    full.bad.push(...bad);
    full.damaged.push(...damaged);
    wrong.push(...damaged, ...bad);
    progress(line("FULL", full));
    if (states === 0) break;
  }
  const normal = await cutAll(place, seed, "NORMAL", Math.min(1000, Math.max(150, count / 10)));
  wrong.push(...normal.damaged.map((one) => `NORMAL: ${one}`));
  if (normal.bad.length === 0) wrong.push("NORMAL lost nothing, so the simulator is blind");
  return { figures: `${line("FULL", full)}; ${line("NORMAL", normal)}`, wrong };
}
