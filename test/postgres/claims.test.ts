import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { openPostgres } from "../../lib/store/postgres/open.ts";
import { compiled } from "../helpers/bundle.ts";
import { emptyDatabase } from "./databases.ts";

const jobs = 2_000;
/** In each of two processes. */
const claimers = 4;

test("2,000 jobs are taken by 8 claimers in two processes exactly once each", async (t) => {
  const { url, ask } = await emptyDatabase(t);
  const { engine } = await openPostgres(url, { isServer: true });
  await engine.close();
  const processes = Array.from({ length: 2 }, () => {
    const words = [compiled("test/postgres/claimers.child.js"), url, String(claimers)];
    const child = spawn(process.execPath, words, { stdio: ["pipe", "pipe", "inherit"] });
    t.after(() => void child.kill("SIGKILL"));
    return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() };
  });
  for (const { lines } of processes) assert.equal((await lines.next()).value, "ready");
  await ask(`insert into jobs (id, kind, args, state, run_at, attempt, failures, crashes, strikes)
    select 'job_' || lpad(i::text, 26, '0'), 'tests.work', json_build_object('name', 'job ' || i)::text, 'waiting',
      '2026-01-01T00:00:00.000Z', 0, 0, 0, 0 from generate_series(1, ${jobs}) as i`);
  for (const { child } of processes) child.stdin.write("go");
  const taken: string[][] = [];
  for (const { lines } of processes) taken.push(...JSON.parse((await lines.next()).value));
  assert.equal(taken.length, 2 * claimers);
  const all = taken.flat();
  assert.equal(all.length, jobs);
  assert.equal(new Set(all).size, jobs);
  // Claimers of both processes took jobs.
  assert.ok(
    taken.filter(({ length }) => length > 0).length > claimers,
    JSON.stringify(taken.map(({ length }) => length)),
  );
  assert.deepEqual(await ask("select * from jobs"), []);
  t.diagnostic(`each took ${taken.map(({ length }) => length).join(", ")}`);
});
