import assert from "node:assert/strict";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { createService, DatabaseError, type Options } from "../../lib/index.ts";
import { folderOf } from "./temporary-store.ts";

export const quiet: Options = { clock: "manual@2026-01-01T00:00:00Z", logLevel: "silent" };

export const owner = { name: "Ada", email: "ada@acme.test", role: "owner" } as const;

/** Creates, uses and closes a database; returns its path. */
export async function createdDatabase(t: TestContext, options: Options = {}): Promise<string> {
  const database = join(folderOf(t), "svc.db");
  await (await createService({ ...quiet, ...options, database })).close();
  return database;
}

/** Asserts that a start fails with one sentence that matches `words` and names the file. */
export async function failsToOpen(database: string, words: RegExp, options: Options = {}): Promise<void> {
  const start = async () => {
    const service = await createService({ ...quiet, ...options, database });
    await service.close();
  };
  await assert.rejects(start, (error) => {
    assert.ok(error instanceof DatabaseError, String(error));
    isDatabaseError(error.message, words);
    return true;
  });
}

/** Asserts that the text is one readable sentence about the database and matches `words`. */
export function isDatabaseError(text: string, words: RegExp): void {
  assert.match(text, words);
  assert.match(text, /the database .*svc.* cannot be used: [a-z]/);
  assert.doesNotMatch(text, /\n|SQLITE_|\bat .*:\d+/, "one sentence for people");
}
