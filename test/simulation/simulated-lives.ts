import { appendFileSync, cpSync, existsSync, mkdirSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { createService, type Seed, type Service } from "../../lib/index.ts";
import { createRandom } from "../../lib/kernel/random.ts";
import { around, seed as organizations, start, type World } from "../helpers/test-service.ts";
import { watchRows } from "./observed.ts";
import { limitedOwner } from "./refusals.ts";
import { picturesOf } from "./simulated-files.ts";
import { unexpected } from "./simulated-jobs.ts";
import { backend, below, receivers, type Simulation } from "./simulated-world.ts";

/** The lives of a service: its start, its kill, and the answers that callers get. */

/** The organizations and users at the start. */
const people: Seed = {
  organizations: organizations.organizations.map((one) =>
    one.name === "acme" ? { ...one, users: [...one.users, limitedOwner] } : one,
  ),
};

/** The database of the current life. */
export const fileOf = ({ folder, life }: Simulation) => join(folder, String(life), "svc.db");

/** Starts the service of the current life. */
export async function open(world: Simulation): Promise<Service<string | null>> {
  const { seed, life, errors } = world;
  const random = createRandom(`receivers ${seed} ${life}`);
  const ignore = () => {};
  const service = await createService({
    database: fileOf(world),
    clock: `manual@${start}`,
    seed: people,
    rateLimit: 0,
    previewLifetime: "1h",
    random: seed,
    transport: receivers(world, life, random),
    generations: { driver: backend(world, random), concurrency: 2 },
    logger: {
      error(...entry) {
        const text = JSON.stringify(entry);
        if (world.life === life && !text.includes(unexpected)) errors.push(text);
      },
      warn: ignore,
      info: ignore,
      debug: ignore,
    },
  });
  const database = new Database(fileOf(world));
  watchRows(database);
  database.close();
  return service;
}

/**
 * Kills the service: the next life starts with copies of its files as they are now. As in a power cut, the copied
 * write-ahead log may end in a torn write, on which no acknowledged write depends, and half-written pictures may be
 * shorter.
 */
export function kill(world: Simulation): void {
  const { random, journal } = world;
  const before = fileOf(world);
  world.life += 1;
  const after = fileOf(world);
  mkdirSync(join(after, ".."));
  for (const end of world.kept) if (existsSync(before + end)) cpSync(before + end, after + end, { recursive: true });
  const torn = random.fraction() < 0.3 && existsSync(`${after}-wal`);
  if (torn) {
    appendFileSync(`${after}-wal`, random.bytes(below(random, 5000)));
    for (const path of picturesOf(after).filter((path) => path.endsWith(".half")))
      truncateSync(path, below(random, statSync(path).size + 1));
  }
  journal.push(`killed${torn ? ", with a torn write" : ""}`);
}

/** A world bound to one life: after its kill, callers get no answer. */
export function mortal(world: Simulation, service: Service<string | null>): World {
  const { life } = world;
  const here = around(service);
  const hear = <T>(value: T): T => {
    if (world.life !== life) throw new Error("killed");
    return value;
  };
  const call: World["call"] = async (who, method, path, ...more) => {
    // The kill may come between commit and answer, so the delete counts as soon as it is called.
    if (method === "DELETE") world.deleted.add(path.split("/").at(-1) ?? "");
    return hear(await here.call(who, method, path, ...more));
  };
  return { ...here, call };
}
