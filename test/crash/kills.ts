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

/** So many kills hit one database, one process after the other. */
const killsOfDatabase = 10;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Kills a server at a random moment: one in ten while it starts, the others up to half a second later. */
async function killAtRandom(child: ChildProcess, random: Random): Promise<string> {
  const end = ended(child);
  const early = random.fraction() < 0.1;
  if (!early) await new Promise((resolve) => child.stdout?.once("data", resolve));
  await pause(random.fraction() * 500);
  child.kill("SIGKILL");
  return (await end).output;
}

/** A copy as the crash left it, so that reading it changes nothing for the next start. The index of the WAL is left out. */
function copyOf(folder: string): string {
  const copy = `${folder}-copy`;
  rmSync(copy, { recursive: true, force: true });
  cpSync(folder, copy, { recursive: true, filter: (path) => !path.endsWith("-shm") });
  return copy;
}

/** What was written down since the facts were read last. */
function readFacts(facts: Facts, folder: string, before: number): number {
  const all = parseFacts(textOf(join(folder, "acks")));
  for (const fact of all.slice(before)) facts.add(fact);
  return all.length;
}

/** Lets the work that is left come to its end, on a manual clock, and looks whether all of it did. */
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

/** Random kills of servers under load; after each, everything acknowledged is there and no rule is broken. */
export async function kills(place: Place, { count, seed, until }: Size): Promise<Report> {
  const done = { kills: 0, acknowledged: 0, databases: 0 };
  const database = (number: number, most: number) => async (): Promise<string[]> => {
    const random = createRandom(`${seed} ${number}`);
    const folder = join(place.folder, `kills-${number}`);
    mkdirSync(folder);
    const receivers = await startReceivers(random);
    const facts = createFacts();
    const wrong: string[] = [];
    for (let kill = 0, read = 0; kill < most && wrong.length === 0; kill++) {
      const load = { seed: `${seed} ${number} ${kill}`, writers: 6, projects: 0, receiver: receivers.url };
      const output = await killAtRandom(place.load(folder, load), random);
      done.kills += 1;
      if (/wrong|refused/.test(output)) wrong.push(output);
      read = readFacts(facts, folder, read);
      if (existsSync(databaseIn(folder))) wrong.push(...facts.losses(databaseIn(copyOf(folder))));
    }
    if (wrong.length === 0) wrong.push(...(await finish(folder, receivers)), ...facts.losses(databaseIn(folder)));
    await receivers.close();
    done.acknowledged += facts.acknowledged;
    done.databases += 1;
    for (const end of ["", "-copy"]) rmSync(folder + end, { recursive: true, force: true });
    return wrong.map((line) => `database ${number} of seed ${seed}: ${line}`);
  };
  const numbers = Array.from({ length: Math.ceil(count / killsOfDatabase) }, (_, number) => number);
  // They mostly wait for their moment.
  const wrong = await inLanes(
    3,
    until,
    numbers.map((number) => database(number, Math.min(killsOfDatabase, count - number * killsOfDatabase))),
  );
  const figures = `${done.kills} random kills of ${done.databases} databases, ${done.acknowledged} acknowledged changes: ${wrong.length} lost`;
  return { figures, wrong };
}
