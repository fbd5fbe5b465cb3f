import { resolve } from "node:path";
import { assemble } from "./assemble.ts";
import { begin } from "./begin.ts";
import { facade, type Service } from "./facade.ts";
import { plantPeriodic } from "./jobs/periodic.ts";
import { openFoundation } from "./open.ts";
import { type Options, parseOptions } from "./options.ts";
import { dangersOf } from "./past.ts";
import { defaultSeed, parseSeed } from "./seed.ts";
import { createWorlds } from "./worlds.ts";

/**
 * Makes a service. Without options it is an emulator in memory, with one organization and an owner's key.
 *
 * @throws {BadOptions} where an option is wrong, {BadSeed} where the seed is, {Unusable} where the database is.
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
    const worlds = createWorlds(settings);
    const parts = assemble(foundation, settings, worlds);
    const apiKey = await begin(foundation, parts.features, settings, parsed);
    await plantPeriodic(parts.periodic, foundation.store, foundation.clock);
    await parts.loop.start("after a crash");
    await parts.features.rollout.resume();
    await parts.features.generations.sweep();
    await parts.features.generationsProgress.resume();
    const { opened, log } = foundation;
    if (opened.created && settings.database !== ":memory:")
      log.info("a new database was made", { database: resolve(settings.database) });
    const { allow } = settings.outbound;
    if (allow.length > 0) log.warn("not only public addresses are sent to", { allow: allow.join(", ") });
    const warnings = [...notes, ...(await dangersOf(foundation, parts.features, settings))];
    for (const warning of warnings) log.warn(warning);
    await worlds.begin({ foundation, parts, apiKey });
    return { service: facade(worlds), warnings };
  } catch (error) {
    await foundation.store.close();
    foundation.opened.release();
    throw error;
  }
}
