import assert from "node:assert/strict";
import { renameSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import Database from "better-sqlite3";
import { createService, type Options } from "../../lib/index.ts";
import { bearer } from "../helpers/headers.ts";
import { mockTime } from "../helpers/mock-time.ts";
import { folderOf } from "../helpers/temporary-store.ts";
import { until } from "../helpers/until.ts";

/** A service in a file whose timers the test moves. */
async function inFile(t: TestContext, options: Options = {}) {
  mockTime(t, { apis: ["setTimeout"] });
  const database = join(folderOf(t), "svc.db");
  const clock = "manual@2026-01-01T00:00:00Z";
  const service = await createService({ database, clock, logLevel: "silent", ...options });
  t.after(() => service.close());
  return {
    database,
    tick: (ms: number) => t.mock.timers.tick(ms),
    async use() {
      const { status } = await service.fetch("/v1/me", { headers: bearer(service.apiKey ?? "") });
      assert.equal(status, 200);
    },
    /** What another process would read. */
    written(query: string) {
      const file = new Database(database, { readonly: true });
      const value = file.prepare(query).pluck().get();
      file.close();
      return value;
    },
  };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

test("the last use of a key is written within a second, without a rate limit too", { timeout: 60_000 }, async (t) => {
  const { tick, use, written } = await inFile(t, { rateLimit: 0 });
  await use();
  tick(1_000);
  await until(() => written("select last_used_at from api_keys") === "2026-01-01T00:00:00.000Z", turn);
});

test("counts that could not be written are written once the store can be written again", {
  timeout: 60_000,
}, async (t) => {
  const { database, tick, use, written } = await inFile(t);
  await use();
  renameSync(database, `${database}.away`);
  tick(250);
  tick(1_000);
  await use();
  renameSync(`${database}.away`, database);
  const next = () => {
    tick(250);
    return turn();
  };
  await until(() => written("select requests from rate_windows where bucket like 'key_%'") === 2, next);
});
