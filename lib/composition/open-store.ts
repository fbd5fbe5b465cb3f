import { accessSync, constants, existsSync, mkdirSync, statSync } from "node:fs";
import { BadOptions, type Settings } from "../config/parse-options.ts";
import { type Clock, createClock } from "../kernel/clock.ts";
import { createIds } from "../kernel/ids.ts";
import { createLog, type Log, type LogSink } from "../kernel/log.ts";
import { standardErrorSink } from "../kernel/node/standard-error.ts";
import { createRandom } from "../kernel/random.ts";
import { formatDuration } from "../kernel/text/duration.ts";
import { type Assets, assetsInFolder, assetsInMemory } from "../store/asset-files.ts";
import { assetsInDatabase } from "../store/asset-rows.ts";
import { asDatabaseError, DatabaseError, describeError } from "../store/database-error.ts";
import { isPostgres, withoutPassword } from "../store/database-url.ts";
import { createEncryption } from "../store/encryption.ts";
import type { OpenDatabase } from "../store/engine.ts";
import { settingsRepository } from "../store/service-state.ts";
import { openFile, openMemory } from "../store/sqlite/database-files.ts";
import { createStore, type Store } from "../store/store.ts";
import { copySetting, unfinished } from "../store/transfer/copy-mark.ts";
import { settleNextKey } from "../store/transfer/next-key.ts";
import { describeObstacle, type Watcher } from "../store/write-failure.ts";
import { givenKey, keyOf, wrongKeyOf } from "./encryption-key.ts";
import { openTracer, tracedStore } from "./tracing.ts";

export type Foundation = Awaited<ReturnType<typeof openFoundation>>;

const inMemory = ":memory:";

/**
 * The foundation of every feature: store, clock, ids, random, log, encryption, assets, and the lease owner. `exclusive`
 * locks the database file for a server. Without `exclusive`, the file must exist, and a server may be using it.
 */
export async function openFoundation(settings: Settings, { exclusive }: { exclusive: boolean }) {
  const opened = await openDatabase(settings, exclusive);
  try {
    const tracer = await openTracer(settings);
    const store = tracedStore(createStore(opened.engine), tracer);
    const serviceState = store.using(settingsRepository);
    if (isPostgres(settings.database) && (await serviceState().read({ name: copySetting })))
      throw new DatabaseError(withoutPassword(settings.database), unfinished);
    const last = (await serviceState().read({ name: "clock" }))?.value;
    const clock = createClock(settings.clock, last === undefined ? 0 : Date.parse(last));
    if (opened.cluster) clock.follow(opened.cluster.now);
    // Until the start is done, the clock does not follow the machine's. Later it moves together with the rows.
    if (exclusive) clock.whenSet(() => {});
    const clockWarning = aheadWarning(clock, (await serviceState().read({ name: "clock_mode" }))?.value);
    const starts = Number((await serviceState().read({ name: "starts" }))?.value ?? "0");
    // Later starts add their number to the seed. Otherwise each would generate the same secrets again.
    const random = createRandom(
      settings.random !== undefined && starts > 0 ? `${settings.random}\n${starts}` : settings.random,
    );
    const log = logOf(settings, store, clock);
    opened.engine.watch(reportTo(log));
    if (settings.clock.startsWith("manual@") && clock.now() > createClock(settings.clock).now())
      log.warn(`the clock starts at ${clock.iso()}, as stored in the database: it never goes back`, {
        option: settings.clock,
      });
    const fingerprint = (await serviceState().read({ name: "vault" }))?.value;
    // Drawn even if the database already has a key, so that a seed gives the same identifiers on every engine.
    const drawn = random.bytes(32);
    // Only a database file has a key file beside it.
    const interrupted = exclusive ? settleNextKey(settings.database, fingerprint) : undefined;
    if (interrupted) log.warn(interrupted);
    const encryption = createEncryption(
      settings.database === inMemory ? drawn : keyOf(settings, fingerprint),
      random.bytes,
    );
    if (fingerprint !== undefined && fingerprint !== encryption.fingerprint) throw wrongKeyOf(settings);
    await store.transaction(fingerprint === undefined ? "all" : "rows", async (tx) => {
      if (exclusive) await serviceState(tx).write({ name: "starts", value: String(starts + 1) });
      if (fingerprint !== undefined) return;
      // Another process may have written it first.
      const present = (await serviceState(tx).read({ name: "vault" }))?.value;
      if (present === undefined) await serviceState(tx).write({ name: "vault", value: encryption.fingerprint });
      else if (present !== encryption.fingerprint) throw wrongKeyOf(settings);
    });
    const newest = opened.created ? [] : await Promise.all(serviceState().newest.map((find) => find({})));
    const after = newest
      .map((row) => row?.id?.slice(row.id.indexOf("_") + 1) ?? "")
      .sort()
      .at(-1);
    const ids = createIds(clock, random, after || undefined);
    opened.cluster?.onNewest(ids.follow);
    const assets = assetsOf(settings, store);
    const owner = createRandom().alphanumeric(16);
    return { opened, store, clock, clockWarning, ids, random, log, encryption, serviceState, assets, owner, tracer };
  } catch (error) {
    await opened.engine.close();
    opened.release();
    throw asDatabaseError(withoutPassword(settings.database), error);
  }
}

/** The foundation of a restored state or a fork. The caller then loads the snapshot's clock, ids and random into it. */
export function copyFoundation(
  opened: OpenDatabase,
  settings: Settings,
  { encryption, assets, owner, tracer: given }: Pick<Foundation, "encryption" | "assets" | "owner" | "tracer">,
): Foundation {
  const tracer = settings.tracing ? given : undefined;
  const store = tracedStore(createStore(opened.engine), tracer);
  const clock = createClock("real");
  const random = createRandom();
  const log = logOf(settings, store, clock);
  opened.engine.watch(reportTo(log));
  return {
    opened,
    store,
    clock,
    clockWarning: undefined,
    ids: createIds(clock, random),
    random,
    log,
    encryption: encryption.withRandom(random.bytes),
    serviceState: store.using(settingsRepository),
    assets: settings.database === inMemory ? assetsInMemory() : assets,
    owner,
    tracer,
  };
}

/** Warns that the database's clock, which was moved or ran fast, is ahead of the machine's; undefined otherwise. */
function aheadWarning(clock: Clock, lastMode: string | undefined): string | undefined {
  const ahead = -clock.setBy();
  if (ahead <= 0 || lastMode === undefined || lastMode === "real") return undefined;
  const amount = formatDuration(Math.round(ahead / 1_000) * 1_000);
  return `the clock of the database was ${amount} ahead of this machine's, because ${lastMode === "manual" ? "it was advanced" : "it ran fast"} in the mode dev; due times move back by as much, so waiting work keeps its remaining time`;
}

async function openDatabase(settings: Settings, exclusive: boolean): Promise<OpenDatabase> {
  const { database, mode } = settings;
  if (database === inMemory) return openMemory();
  if (isPostgres(database)) {
    // Checked before anything is created in the folder.
    givenKey(settings, { mayBeNew: exclusive });
    const { openPostgres } = await import("../store/postgres/open.ts");
    return openPostgres(database, { isServer: exclusive, mayMigrate: exclusive && settings.migrate });
  }
  return openFile(database, {
    exclusive,
    mayMigrate: exclusive && settings.migrate,
    keepReserve: exclusive && mode === "start",
    mayCreate: () => requireCreatable(settings, exclusive),
  });
}

function assetsOf({ database, assets: { folder } }: Settings, store: Store): Assets {
  if (database === inMemory) return assetsInMemory();
  if (!isPostgres(database)) return assetsInFolder(`${database}-files`);
  if (folder === undefined) return assetsInDatabase(store);
  try {
    // Creates no parent folders: that would hide a shared disk that is not mounted.
    if (!existsSync(folder)) mkdirSync(folder);
    accessSync(folder, constants.W_OK);
  } catch (error) {
    throw new BadOptions("assets.folder", `must name a folder that all servers share; ${describeError(error)}`);
  }
  return assetsInFolder(folder);
}

/** Refuses to start if the database is missing but its key file exists: the disk is probably not mounted. */
function requireCreatable({ database, mode, create, migrate }: Settings, exclusive: boolean): void {
  if (!exclusive)
    throw new DatabaseError(database, "it does not exist; start a server on it first, or name another file");
  if (!migrate) throw new DatabaseError(database, "it does not exist; make it with svc-server migrate");
  if (mode === "start" && !create && existsSync(`${database}.key`)) {
    const state = existsSync(database) && statSync(database).size === 0 ? "empty" : "missing";
    throw new DatabaseError(
      database,
      `its key file ${database}.key exists, but the database is ${state}; restore it (is a volume not mounted?), or make a new database with --create`,
    );
  }
}

/** Logs one line when an outage begins and one when it ends, however many requests and jobs fail in between. */
const reportTo = (log: Log): Watcher => ({
  writes(obstacle, error) {
    if (!obstacle) log.warn("the store can be written again");
    else log.error(`the store cannot be written: ${describeObstacle(obstacle)}`, { error: textOf(error) });
  },
  log(bytes, isLarge) {
    if (isLarge)
      log.warn(
        "the write-ahead log grows, because another program reads the database in one long transaction; end it",
        { bytes },
      );
    else log.warn("the write-ahead log is small again", { bytes });
  },
});

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "code" in error ? `${error.code}: ${error.message}` : error.message;
}

/** A replaced state logs nothing, because errors of its interrupted work do not matter. */
function logOf({ logger, logLevel }: Settings, store: Store, clock: Clock): Log {
  const toLogger: LogSink = (level, message, fields) => {
    try {
      logger?.[level](message, fields);
    } catch {
      // A request must not fail because a log entry could not be written.
    }
  };
  const take: LogSink = logger ? toLogger : standardErrorSink(clock.iso);
  // A user's logger filters levels itself.
  return createLog(logger ? "debug" : logLevel, (...entry) => (store.retired ? undefined : take(...entry)));
}
