import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import Database from "better-sqlite3";
import type { Connection } from "../../lib/store/engine.ts";
import { migrate } from "../../lib/store/migrate.ts";
import { openDatabase } from "../../lib/store/sqlite/connection.ts";
import { createSqliteEngine, type SqliteEngine } from "../../lib/store/sqlite/engine.ts";

/** A folder that is removed after the test. */
export function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "svc-test-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The files in a folder that contain the text. */
export const filesContaining = (folder: string, words: string): string[] =>
  readdirSync(folder).filter((name) => readFileSync(join(folder, name)).includes(words));

const read = "select name from settings order by name";

/** Writes a row into `settings`, the smallest table. */
export const put = (connection: Connection, name: string, value = "") =>
  connection.statement("insert into settings (name, value) values (?, ?)").run([name, value]);

export const names = async (connection: Connection) =>
  ((await connection.statement(read).all([])) as { name: string }[]).map(({ name }) => name);

export interface TemporaryStore {
  readonly engine: SqliteEngine;
  readonly database: Database.Database;
  readonly path: string;
  /** The SQL sent to SQLite since the last call, including transaction control. */
  sent(): string[];
  /** Reads through another connection to the same file, which sees only committed data. */
  outside(): string[];
}

/** An engine on a migrated file that records its statements. */
export function openTemporaryStore(t: TestContext): TemporaryStore {
  const path = join(folderOf(t), "svc.db");
  openDatabase(path).close();
  let lines: string[] = [];
  const database = new Database(path, { verbose: (line) => lines.push(String(line)), timeout: 50 });
  database.pragma("foreign_keys = ON");
  migrate(database);
  const engine = createSqliteEngine(database);
  const other = new Database(path);
  t.after(async () => {
    other.close();
    await engine.close();
  });
  const seen = other.prepare(read).pluck();
  lines = [];
  return {
    engine,
    database,
    path,
    sent() {
      const taken = lines;
      lines = [];
      return taken;
    },
    outside: () => seen.all() as string[],
  };
}

/** A promise that `open` resolves. */
export function deferred<T = void>() {
  let open = (_: T) => {};
  const promise = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { open: (value: T) => open(value), promise };
}
