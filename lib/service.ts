import { resolve } from "node:path";
import { bootstrap } from "./app/bootstrap.ts";
import { devDatabaseWarnings } from "./app/dev-database-warnings.ts";
import { openFoundation } from "./app/open-store.ts";
import { createFacade, type Service } from "./app/service-facade.ts";
import { createHost } from "./app/snapshots.ts";
import { wire } from "./app/wiring.ts";
import { type Options, parseOptions } from "./config/parse-options.ts";
import { defaultSeed, parseSeed } from "./config/seed.ts";
import { addPeriodicJobs } from "./jobs/periodic.ts";
import { asDatabaseError } from "./store/database-error.ts";

/**
 * Makes a service. Without options it is an emulator in memory, with one organization and an owner's key.
 *
 * @throws {BadOptions} for a wrong option, {BadSeed} for a wrong seed, {DatabaseError} for a database that cannot be used.
 */
export async function createService(options: Options = {}): Promise<Service> {
  return (await beginService(options)).service;
}

/** The same, with warnings for the operator, which are logged too: `notes` first, then those about the database. */
export async function beginService(
  options: Options,
  notes: readonly string[] = [],
): Promise<{ readonly service: Service; readonly warnings: readonly string[] }> {
  const settings = parseOptions(options);
  const seed = parseSeed(settings.seed ?? defaultSeed);
  const foundation = await openFoundation(settings, { exclusive: true });
  const { store, clock, log, opened } = foundation;
  try {
    const host = createHost(settings);
    const wiring = wire(foundation, settings, host);
    const { features, periodic, loop } = wiring;
    const apiKey = await bootstrap(foundation, features, settings, seed);
    await addPeriodicJobs(periodic, store, clock);
    await loop.start("after a crash");
    await features.rollout.resume();
    await features.generations.sweep();
    await features.execution.resume();
    if (opened.created && settings.database !== ":memory:")
      log.info("a new database was made", { database: resolve(settings.database) });
    const { allow } = settings.outbound;
    if (allow.length > 0)
      log.warn("outbound requests may reach addresses that are not public", { allow: allow.join(", ") });
    const restored = opened.warning === undefined ? [] : [opened.warning];
    const warnings = [...notes, ...restored, ...(await devDatabaseWarnings(foundation, features, settings))];
    for (const warning of warnings) log.warn(warning);
    await host.start({ foundation, wiring, apiKey });
    return { service: createFacade(host), warnings };
  } catch (error) {
    await store.close();
    opened.release();
    throw asDatabaseError(settings.database, error);
  }
}
