import { resolve } from "node:path";
import { bootstrap } from "./app/bootstrap.ts";
import { devDatabaseWarnings } from "./app/dev-database-warnings.ts";
import { openFoundation } from "./app/open-store.ts";
import { facade, type Service } from "./app/service-facade.ts";
import { createHost } from "./app/snapshots.ts";
import { wire } from "./app/wiring.ts";
import { type Options, parseOptions } from "./config/parse-options.ts";
import { defaultSeed, parseSeed } from "./config/seed.ts";
import { addPeriodicJobs } from "./jobs/periodic.ts";

/**
 * Makes a service. Without options it is an emulator in memory, with one organization and an owner's key.
 *
 * @throws {BadOptions} where an option is wrong, {BadSeed} where the seed is, {DatabaseError} where the database is.
 */
export async function createService(options: Options = {}): Promise<Service> {
  return (await beginService(options)).service;
}

/** The same, with what its operator must know of, which the log has too. `notes` are what was found out before. */
export async function beginService(
  options: Options,
  notes: readonly string[] = [],
): Promise<{ readonly service: Service; readonly warnings: readonly string[] }> {
  const settings = parseOptions(options);
  const parsed = parseSeed(settings.seed ?? defaultSeed);
  const foundation = await openFoundation(settings, { exclusive: true });
  try {
    const worlds = createHost(settings);
    const parts = wire(foundation, settings, worlds);
    const apiKey = await bootstrap(foundation, parts.features, settings, parsed);
    await addPeriodicJobs(parts.periodic, foundation.store, foundation.clock);
    await parts.loop.start("after a crash");
    await parts.features.rollout.resume();
    await parts.features.generations.sweep();
    await parts.features.execution.resume();
    const { opened, log } = foundation;
    if (opened.created && settings.database !== ":memory:")
      log.info("a new database was made", { database: resolve(settings.database) });
    const { allow } = settings.outbound;
    if (allow.length > 0) log.warn("not only public addresses are sent to", { allow: allow.join(", ") });
    const warnings = [...notes, ...(await devDatabaseWarnings(foundation, parts.features, settings))];
    for (const warning of warnings) log.warn(warning);
    await worlds.begin({ foundation, parts, apiKey });
    return { service: facade(worlds), warnings };
  } catch (error) {
    await foundation.store.close();
    foundation.opened.release();
    throw error;
  }
}
