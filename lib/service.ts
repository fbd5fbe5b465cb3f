import { bootstrap } from "./composition/bootstrap.ts";
import { devDatabaseWarnings } from "./composition/dev-database-warnings.ts";
import { loadOidc, oidcWarnings } from "./composition/oidc.ts";
import { crowdOf } from "./composition/open-port.ts";
import { type Foundation, openFoundation } from "./composition/open-store.ts";
import { createRuntimes } from "./composition/runtimes.ts";
import { createFacade, type Service } from "./composition/service-facade.ts";
import { createServiceInstance, type ServiceInstance } from "./composition/service-instance.ts";
import { requireSeparation } from "./composition/tenancy.ts";
import { tracingWarnings } from "./composition/tracing.ts";
import { wire } from "./composition/wiring.ts";
import type { Options } from "./config/generated/options.ts";
import { parseOptions, runsForReal, type Settings } from "./config/parse-options.ts";
import { defaultSeed, parseSeed } from "./config/seed.ts";
import type { Protection } from "./drivers/deployment/protections.ts";
import type { LiveApps } from "./features/environments/live-apps.ts";
import { hasApps } from "./features/environments/no-live-apps.ts";
import { codeHostWarnings } from "./features/organizations/code-host-rights.ts";
import { loadH3 } from "./http/app.ts";
import { addPruneJob } from "./jobs/periodic.ts";
import type { Log } from "./kernel/log.ts";
import { underRules } from "./kernel/validation.ts";
import { asDatabaseError } from "./store/database-error.ts";
import { describeDatabase, withoutPassword } from "./store/database-url.ts";

/** The options with which there is always a key to show: a new database without a seed, or the option `key`. */
export type WithKey =
  | { readonly database?: ":memory:" | undefined; readonly seed?: undefined }
  | { readonly key: string };

/**
 * Creates a service. Without options it is an emulator in memory, with one organization and an owner's key.
 * @throws {BadOptions} for an invalid option, {BadSeed} for an invalid seed, {DatabaseError} for an unusable database.
 */
export async function createService(options?: Options & WithKey): Promise<Service>;
export async function createService(options?: Options): Promise<Service<string | null>>;
export async function createService(options: Options = {}): Promise<Service<string | null>> {
  await loadH3();
  return (await beginService(options)).service;
}

interface Begun {
  readonly service: Service<string | null>;
  readonly warnings: readonly string[];
  /** The runtimes of deployments; null if they are simulated. */
  readonly runtime: string | null;
  /** The parts of the box of the runtime `process`. */
  readonly protections: readonly Protection[];
}

/**
 * Like `createService`, but also returns warnings for the operator: `notes` first, then those about the database. The
 * log gets them too. Does not load h3, so the first `service.fetch` takes longer.
 */
export async function beginService(options: Options, notes: readonly string[] = []): Promise<Begun> {
  const settings = parseOptions(options);
  await loadOidc(settings);
  const seed = underRules({ trusted: settings.trustNetwork }, () => parseSeed(settings.seed ?? defaultSeed));
  const foundation = await openFoundation(settings, { exclusive: true });
  const { store, clock, log, opened } = foundation;
  let host: ServiceInstance | undefined;
  let apps: LiveApps | undefined;
  try {
    const { platform } = (await needsPlatform(settings, foundation)) ? await import("./composition/platform.ts") : {};
    host = createServiceInstance(settings, createRuntimes(settings, platform));
    const wiring = wire(foundation, settings, host);
    apps = wiring.features.apps;
    const { features, loop } = wiring;
    const apiKey = await bootstrap(foundation, features, settings, seed);
    await addPruneJob(store, clock);
    await features.feed.begin();
    await features.apps.begin();
    const protections = host.runtimes.driver.runtime?.protections?.() ?? [];
    await requireSeparation(features, settings, protections);
    await host.runtimes.open(crowdOf(() => ({ foundation, wiring })));
    await features.apps.open();
    // Before any job writes a file: the sweep would mistake a new file for one that a crash left behind.
    await features.generations.sweep();
    await loop.start("after a crash");
    await features.rollout.resume();
    await features.apps.resume();
    await features.execution.resume();
    if (opened.created && settings.database !== ":memory:")
      log.info("a new database was made", { database: describeDatabase(settings.database) });
    warnOfOpenings(settings, log);
    const found = [opened.warning, foundation.clockWarning].filter((warning) => warning !== undefined);
    const warnings = [
      ...notes,
      ...stoppedApps(settings),
      ...found,
      ...(await devDatabaseWarnings(foundation, features, settings)),
      ...(await codeHostWarnings({ store, codeHost: settings.codeHost })),
      ...(await oidcWarnings(settings, features)),
      ...tracingWarnings(settings, foundation.tracer),
    ];
    for (const warning of warnings) log.warn(warning);
    await host.start({ foundation, wiring, apiKey });
    if (settings.timers) await host.company.couple(settings.timers);
    if (!store.engine.started())
      log.warn("the disk is nearly full; free some space, or deletes will fail too once it is full");
    const elsewhere = features.apps.runtimeName();
    const runtime =
      host.runtimes.driver.runtime?.detail?.() ?? (elsewhere === undefined ? null : `${elsewhere}, on another server`);
    return { service: createFacade(host), warnings, runtime, protections };
  } catch (error) {
    await apps?.unregister();
    host?.company.release();
    await host?.runtimes.close();
    host?.runtimes.release();
    await store.close();
    opened.release();
    throw asDatabaseError(withoutPassword(settings.database), error);
  }
}

/** Whether this server or another one really runs apps, or has done so on this database. */
const needsPlatform = async (settings: Settings, { opened, store }: Foundation): Promise<boolean> =>
  runsForReal(settings) ||
  settings.deployments.driver?.runtime !== undefined ||
  opened.cluster !== undefined ||
  settings.codeHost.token !== undefined ||
  (await hasApps(store));

const stoppedApps = ({ deployments }: Settings) =>
  deployments.apps === "stopped"
    ? [
        "apps are stopped (--apps stopped): live releases were not started. A restart of an environment or a deployment to it starts its app; a start without the option starts all of them",
      ]
    : [];

/** Logs a warning for each protection that the operator has turned off, at every start. */
function warnOfOpenings({ outbound: { allow }, trustNetwork: { names }, deployments }: Settings, log: Log): void {
  if (allow.length > 0)
    log.warn("outbound requests may reach addresses that are not public", { allow: allow.join(", ") });
  if (names.length > 0)
    log.warn("the control interface answers these networks without a key", {
      networks: names.join(", "),
    });
  const { driver, runtime, isolation } = deployments;
  if (driver === undefined && runtime.includes("process") && isolation === "none")
    log.warn(
      "deployed code runs without isolation (--isolation none): it can read everything that the user of the service can",
    );
}
