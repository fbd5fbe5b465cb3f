import { AsyncLocalStorage } from "node:async_hooks";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { Client } from "pg";
import type { Options, Service } from "../../lib/index.ts";
import { openPostgresSource } from "../../lib/store/transfer/copy-postgres.ts";
import { openSqliteSource } from "../../lib/store/transfer/copy-sqlite.ts";
import { type Ask, eachPage } from "../../lib/store/transfer/copy-tables.ts";
import { fastFolder } from "../helpers/fast-folder.ts";
import { lineOf } from "./named-differences.ts";
import { encryptionKeyOf } from "./player.ts";

/** A new database of one engine, for the history of a seed. */
export interface Engine {
  readonly name: string;
  readonly options: Options;
  /** Closes the service on this database. */
  close(service: Service<string | null>): Promise<void>;
  /** The rows as lines of text. The service is closed; `now` is the time of its clock at the close. */
  rows(now: number): Promise<readonly string[]>;
  /** Removes the database. */
  end(): Promise<void>;
}

async function linesOf(ask: Ask, now: number): Promise<string[]> {
  const lines: string[] = [];
  await eachPage(ask, (table, page) => void lines.push(...page.flatMap((row) => lineOf(table, row, now))));
  return lines;
}

/** Other databases in memory hold only a schema, and stay empty. */
const isOfService = (database: Database.Database) =>
  database.prepare("select 1 from sqlite_schema where name = 'organizations'").get() !== undefined &&
  database.prepare("select 1 from organizations").get() !== undefined;

/**
 * Keeps the image of a database in memory, which is gone after its service closes. One per history, since histories run
 * concurrently.
 */
const kept = new AsyncLocalStorage<{ image?: Buffer }>();
const { close } = Database.prototype;
Database.prototype.close = function (this: Database.Database) {
  const closing = kept.getStore();
  if (closing && this.memory && isOfService(this)) closing.image = this.serialize();
  return close.call(this);
};

export async function inMemory(): Promise<Engine> {
  const own: { image?: Buffer } = {};
  return {
    name: "SQLite in memory",
    options: {},
    close: (service) => kept.run(own, () => service.close()),
    async rows(now) {
      const database = new Database(own.image);
      const ask: Ask = async (text, values = []) =>
        database.prepare(text.replaceAll(/\$\d+/g, "?")).all(...values) as Awaited<ReturnType<Ask>>;
      return linesOf(ask, now).finally(() => database.close());
    },
    async end() {},
  };
}

export async function inFile(seed: number): Promise<Engine> {
  const folder = mkdtempSync(join(fastFolder, "svc-history-"));
  const database = join(folder, "svc.db");
  writeFileSync(`${database}.key`, `${encryptionKeyOf(seed).toString("base64")}\n`, { mode: 0o600 });
  return {
    name: "SQLite in a file",
    options: { database },
    close: (service) => service.close(),
    async rows(now) {
      const source = await openSqliteSource(database);
      return linesOf(source.ask, now).finally(source.close);
    },
    async end() {
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A database on the PostgreSQL server of `first`; `seed` is part of its name. */
export async function onPostgres(first: string, seed: number): Promise<Engine> {
  const name = `svc_history_${process.pid}_${seed}`;
  const ask = async (text: string) => {
    const client = new Client({ connectionString: first });
    await client.connect();
    await client.query(text).finally(() => client.end());
  };
  await ask(`create database ${name}`);
  const database = Object.assign(new URL(first), { pathname: `/${name}` }).href;
  return {
    name: "PostgreSQL",
    options: { database, encryptionKey: encryptionKeyOf(seed).toString("hex") },
    close: (service) => service.close(),
    async rows(now) {
      const source = await openPostgresSource(database, undefined, { alone: false });
      return linesOf(source.ask, now).finally(source.close);
    },
    end: () => ask(`drop database ${name} with (force)`),
  };
}
