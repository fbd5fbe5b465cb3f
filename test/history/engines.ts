import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { Client } from "pg";
import type { Options } from "../../lib/index.ts";
import { openPostgresSource } from "../../lib/store/copy-postgres.ts";
import { openSqliteSource } from "../../lib/store/copy-sqlite.ts";
import { type Ask, eachPage } from "../../lib/store/copy-tables.ts";
import { lineOf } from "./named-differences.ts";
import { encryptionKeyOf } from "./player.ts";

/** A new database of one engine, for the history of a seed. */
export interface Engine {
  readonly name: string;
  readonly options: Options;
  /** Its rows, a line each, once its service is closed at this time of its clock. */
  rows(now: number): Promise<readonly string[]>;
  /** Takes it away. */
  end(): Promise<void>;
}

async function linesOf(ask: Ask, now: number): Promise<string[]> {
  const lines: string[] = [];
  await eachPage(ask, (table, page) => void lines.push(...page.flatMap((row) => lineOf(table, row, now))));
  return lines;
}

/** Others in memory are read for their schema, and stay empty. */
const isOfService = (database: Database.Database) =>
  database.prepare("select 1 from sqlite_schema where name = 'organizations'").get() !== undefined &&
  database.prepare("select 1 from organizations").get() !== undefined;

/** A database in memory ends with its service, so its content is kept as it closes. */
export async function inMemory(): Promise<Engine> {
  const { close } = Database.prototype;
  let image: Buffer | undefined;
  Database.prototype.close = function (this: Database.Database) {
    if (this.memory && isOfService(this)) image = this.serialize();
    return close.call(this);
  };
  return {
    name: "SQLite in memory",
    options: {},
    async rows(now) {
      Database.prototype.close = close;
      const database = new Database(image);
      const ask: Ask = async (text, values = []) =>
        database.prepare(text.replaceAll(/\$\d+/g, "?")).all(...values) as Awaited<ReturnType<Ask>>;
      return linesOf(ask, now).finally(() => database.close());
    },
    async end() {
      Database.prototype.close = close;
    },
  };
}

export async function inFile(seed: number): Promise<Engine> {
  const folder = mkdtempSync(join(tmpdir(), "svc-history-"));
  const database = join(folder, "svc.db");
  writeFileSync(`${database}.key`, `${encryptionKeyOf(seed).toString("base64")}\n`, { mode: 0o600 });
  return {
    name: "SQLite in a file",
    options: { database },
    async rows(now) {
      const source = await openSqliteSource(database);
      return linesOf(source.ask, now).finally(source.close);
    },
    async end() {
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** On the server whose database `first` is; `seed` names the new one. */
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
    async rows(now) {
      const source = await openPostgresSource(database, undefined, { alone: false });
      return linesOf(source.ask, now).finally(source.close);
    },
    end: () => ask(`drop database ${name} with (force)`),
  };
}
