import { existsSync, statSync } from "node:fs";
import type { Settings } from "../config/parse-options.ts";
import { type Clock, createClock } from "../kernel/clock.ts";
import { createIds } from "../kernel/ids.ts";
import { createLog, type Log, type LogSink, lineSink } from "../kernel/log.ts";
import { createRandom } from "../kernel/random.ts";
import { assetsInFolder, assetsInMemory } from "../store/asset-files.ts";
import { asDatabaseError, DatabaseError, describeError } from "../store/database-error.ts";
import { type OpenDatabase, openFile, openMemory } from "../store/database-files.ts";
import { createEncryption, readOrCreateKey, wrongKey } from "../store/encryption.ts";
import { settingsRepository } from "../store/service-state.ts";
import { createStore, type Store } from "../store/store.ts";

export type Foundation = Awaited<ReturnType<typeof openFoundation>>;

const inMemory = ":memory:";

/**
 * The base of every feature: store, clock, ids, random, log, encryption, assets. `exclusive` locks the file for a server;
 * without it the file must exist, and a server may be running on it.
 */
export async function openFoundation(settings: Settings, { exclusive }: { exclusive: boolean }) {
  const opened =
    settings.database === inMemory
      ? openMemory()
      : openFile(settings.database, {
          exclusive,
          mayCreate: () => requireCreatable(settings, exclusive),
        });
  try {
    const store = createStore(opened.engine);
    const serviceState = store.using(settingsRepository);
    const last = (await serviceState().read({ name: "clock" }))?.value;
    const clock = createClock(settings.clock, last === undefined ? 0 : Date.parse(last));
    const starts = Number((await serviceState().read({ name: "starts" }))?.value ?? "0");
    // From the second start on, the seed includes the number of starts, or the same secrets would be drawn again.
    const random = createRandom(
      settings.random !== undefined && starts > 0 ? `${settings.random}\n${starts}` : settings.random,
    );
    const log = logOf(settings, store, clock);
    if (settings.clock.startsWith("manual@") && clock.now() > createClock(settings.clock).now())
      log.warn(`the clock starts at ${clock.iso()}, as stored in the database: it never goes back`, {
        option: settings.clock,
      });
    const fingerprint = (await serviceState().read({ name: "vault" }))?.value;
    const encryption = createEncryption(
      settings.database === inMemory ? random.bytes(32) : keyOf(settings, fingerprint),
      random.bytes,
    );
    if (fingerprint !== undefined && fingerprint !== encryption.fingerprint) throw wrongKey(settings.database);
    await store.transaction(async (tx) => {
      if (exclusive) await serviceState(tx).write({ name: "starts", value: String(starts + 1) });
      if (fingerprint === undefined) await serviceState(tx).write({ name: "vault", value: encryption.fingerprint });
    });
    const newest = opened.created ? [] : await Promise.all(serviceState().newest.map((find) => find({})));
    const after = newest
      .map((row) => row?.id.slice(row.id.indexOf("_") + 1) ?? "")
      .sort()
      .at(-1);
    const ids = createIds(clock, random, after || undefined);
    const assets = settings.database === inMemory ? assetsInMemory() : assetsInFolder(`${settings.database}-files`);
    return { opened, store, clock, ids, random, log, encryption, serviceState, assets };
  } catch (error) {
    await opened.engine.close();
    opened.release();
    throw asDatabaseError(settings.database, error);
  }
}

/** The foundation of a restored state or a fork. Its clock, ids and random get the snapshot's state next. */
export function copyFoundation(
  opened: OpenDatabase,
  settings: Settings,
  { encryption, assets }: Pick<Foundation, "encryption" | "assets">,
): Foundation {
  const store = createStore(opened.engine);
  const clock = createClock("real");
  const random = createRandom();
  return {
    opened,
    store,
    clock,
    ids: createIds(clock, random),
    random,
    log: logOf(settings, store, clock),
    encryption: encryption.withRandom(random.bytes),
    serviceState: store.using(settingsRepository),
    assets: settings.database === inMemory ? assetsInMemory() : assets,
  };
}

/** The key file beside the database. It is made for a new database only: a new key could not read existing secrets. */
function keyOf(settings: Settings, fingerprint: string | undefined): Buffer {
  const path = `${settings.database}.key`;
  if (fingerprint !== undefined && !existsSync(path)) {
    const reason = `its key file ${path} is missing; restore it from the backup: secrets cannot be read without it`;
    throw new DatabaseError(settings.database, reason);
  }
  try {
    return readOrCreateKey(path, createRandom().bytes);
  } catch (error) {
    throw new DatabaseError(settings.database, `its key file: ${describeError(error)}`, error);
  }
}

/** Refuses a missing database whose key file is there: that is a lost mount, and not a first start. */
function requireCreatable({ database, mode, create }: Settings, exclusive: boolean): void {
  if (!exclusive)
    throw new DatabaseError(database, "it does not exist; start a server on it first, or name another file");
  if (mode === "start" && !create && existsSync(`${database}.key`)) {
    const state = existsSync(database) && statSync(database).size === 0 ? "empty" : "missing";
    throw new DatabaseError(
      database,
      `its key file ${database}.key is there, but the database is ${state}; restore it (is a volume not mounted?), or make a new database with --create`,
    );
  }
}

/** A replaced state logs nothing: the errors of its cut-off work concern nobody. */
function logOf({ logger, logLevel }: Settings, store: Store, clock: Clock): Log {
  const write = (line: string) => void process.stderr.write(`${line}\n`);
  const toLogger: LogSink = (level, message, fields) => {
    try {
      logger?.[level](message, fields);
    } catch {
      // A request must not fail because a log entry could not be written.
    }
  };
  const take: LogSink = logger ? toLogger : lineSink({ json: !process.stderr.isTTY, now: clock.iso, write });
  // A user's logger filters levels itself.
  return createLog(logger ? "debug" : logLevel, (...entry) => (store.retired ? undefined : take(...entry)));
}
