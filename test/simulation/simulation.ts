import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { createService, type Service } from "../../lib/index.ts";
import { replaceSystemTime } from "../../lib/kernel/node/system.ts";
import { createRandom } from "../../lib/kernel/random.ts";
import { allSteps, emptyRecord, runSteps, stepContext } from "../helpers/all-operations.ts";
import { unfinished, violations } from "../helpers/invariants.ts";
import { around, seed as organizations, start } from "../helpers/test-service.ts";
import { reachedRows } from "./observed.ts";
import { refuse, refuseAtEnd } from "./refusals.ts";
import { checkPictures, picturesOf, replaceFiles } from "./simulated-files.ts";
import { watchJobs } from "./simulated-jobs.ts";
import { fileOf, kill, mortal, open } from "./simulated-lives.ts";
import { heavySteps, moreSteps } from "./simulated-steps.ts";
import { trouble } from "./simulated-trouble.ts";
import { backend, below, type Simulation, turns } from "./simulated-world.ts";

/*
 * A whole service on one seed: callers, receivers, a backend, kills and the disk all draw from it, and only the manual
 * clock moves time. So a seed repeats exactly, whatever it finds.
 */

/** Stops the machine's timers, which would fire at random moments of a run. Returns a function that restores them. */
function stopMachine(): () => void {
  const { setTimeout, clearTimeout } = globalThis;
  const timer = { unref: () => timer, ref: () => timer, hasRef: () => false };
  const never = (() => timer) as unknown as typeof setTimeout;
  replaceSystemTime({ setTimeout: never, clearTimeout: () => {}, now: () => Date.parse(start), monotonic: () => 0 });
  const monotonic = performance.now.bind(performance);
  return () => replaceSystemTime({ setTimeout, clearTimeout, now: Date.now, monotonic });
}

/** Steps that later steps depend on: they create receivers, projects and people. */
const beginning = ["webhooks.create", "integrations.create", "projects.create", "invitations.accept", "keys.create"];
const often = [
  "time",
  "time",
  "time",
  "deployments.create",
  "deployments.create",
  "generations.create",
  "webhooks.test",
];
const everyStep = { ...allSteps, ...moreSteps };
const steps = [...Object.keys(everyStep), ...often, ...often, ...often];

/** Runs the work once; every call returns the same promise. */
const once = (work: () => Promise<void>) => {
  let done: Promise<void> | undefined;
  return () => (done ??= work());
};

/** Runs rounds of concurrent steps; a kill cuts off the last round. */
async function live(world: Simulation, service: Service<string | null>, rounds: number, ends: boolean): Promise<void> {
  const { random, record, life } = world;
  for (let round = 0; round < rounds; round++) {
    const context = stepContext(mortal(world, service), random, record);
    const chosen = Array.from({ length: 1 + below(random, 4) }, () => steps[below(random, steps.length)]);
    const running = Promise.allSettled(chosen.map(async (name = "time") => await everyStep[name]?.(context)));
    if (ends && round === rounds - 1) {
      await turns(below(random, 40));
      kill(world);
    }
    const ended = await running;
    for (const [i, result] of ended.entries())
      if (result.status === "rejected" && world.life === life)
        throw new Error(`the step ${chosen[i]} failed`, { cause: result.reason });
  }
}

/** The table for each kind of record. Deployments are missing, since they go with their projects. */
const tables = {
  users: "users",
  keys: "api_keys",
  projects: "projects",
  webhooks: "endpoints",
  integrations: "endpoints",
  generations: "generations",
} as const;

/** Checks the store's invariants, and that each acknowledged record exists. */
function check(world: Simulation, isEnd = false): void {
  const { record, errors, received } = world;
  const database = new Database(fileOf(world));
  try {
    assert.deepEqual(violations(database), []);
    checkPictures(database, isEnd);
    for (const [kind, table] of Object.entries(tables)) {
      const find = database.prepare(`select 1 from ${table} where id = ?`);
      for (const id of record.made.get(kind) ?? [])
        assert.ok(find.get(id) || world.deleted.has(id), `${id} was acknowledged and is gone`);
    }
  } finally {
    database.close();
  }
  assert.deepEqual(errors, []);
  for (const [delivery, { bodies }] of received)
    if (!delivery.startsWith("none")) assert.equal(bodies.size, 1, `the attempts of ${delivery} differ`);
  for (const response of record.responses) assert.doesNotMatch(response, /^\S+ \S+ 5\d\d /);
}

/**
 * Loads the modules that the service would load on first use: reading files takes real time, so a first run would
 * differ from the next.
 */
const loadModules = once(async () => {
  const random = createRandom("modules");
  const service = await createService({
    clock: `manual@${start}`,
    seed: organizations,
    rateLimit: 0,
    random: "modules",
    logLevel: "silent",
    transport: async () => new Response("fine"),
    generations: { driver: backend({ faulty: false }, random) },
  });
  await runSteps(around(service), random, 0);
  await service.close();
});

/**
 * Runs a seed. Returns its journal, the journal's hash, the number of kills, and the parts reached; rejects if it finds
 * a fault. `loses` removes files at each kill, like a disk that loses acknowledged writes.
 */
export async function simulate(seed: string, { loses }: { readonly loses?: "-wal" | "-files" } = {}) {
  await loadModules();
  const folder = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "svc-simulation-"));
  const world: Simulation = {
    ...{
      seed,
      folder,
      record: emptyRecord(),
      received: new Map(),
      deleted: new Set(),
      journal: [],
      errors: [],
      reached: new Set(),
      life: 0,
      faulty: true,
    },
    random: createRandom(`simulation ${seed}`),
    kept: ["", ".key", "-files", "-wal"].filter((end) => end !== loses),
  };
  const { random, record, journal } = world;
  mkdirSync(join(folder, "0"));
  // Without a fixed key file, each run would have another encryption and signing key.
  writeFileSync(`${fileOf(world)}.key`, `${random.bytes(32).toString("base64")}\n`, { mode: 0o600 });
  const troubles = trouble(world);
  const restore = [stopMachine(), replaceFiles(), watchJobs(troubles.watcher)];
  let service = await open(world);
  let pictures = 0;
  try {
    const context = () => stepContext(mortal(world, service), random, record);
    for (const name of beginning) await allSteps[name]?.(context());
    await refuse(context(), Number(seed));
    for (const step of heavySteps(Number(seed))) await step(context());
    service = await troubles.begin(service);
    const kills = 1 + below(random, 3);
    for (let life = 0; life <= kills; life++) {
      await live(world, service, 3 + below(random, 10), life < kills);
      if (life < kills) {
        await service.close();
        service = await open(world);
      }
      check(world);
      journal.push(...record.responses.splice(0));
    }
    world.faulty = false;
    await service.clock.runUntilIdle();
    const closed = service.close();
    await refuseAtEnd(context(), Number(seed));
    await closed;
    journal.push(...record.responses.splice(0));
    pictures = picturesOf(fileOf(world)).length;
    check(world, true);
    const database = new Database(fileOf(world));
    const left = unfinished(database);
    for (const what of [...record.refused, ...reachedRows(database)]) world.reached.add(what);
    database.close();
    assert.deepEqual(left, []);
  } finally {
    await service.close();
    for (const back of restore) back();
    rmSync(folder, { recursive: true, force: true });
  }
  const hash = createHash("sha256").update(journal.join("\n")).digest("hex");
  return { hash, journal, kills: world.life, pictures, reached: world.reached };
}
