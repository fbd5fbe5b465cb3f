// `npm run histories -- --seeds 20 --from 0 --calls 2000`: plays the same history on every engine, and prints the first
// difference.
import { parseArgs } from "node:util";
import { fastFolder } from "../helpers/fast-folder.ts";
import { startServer } from "../postgres/server.ts";
import { compareEngines } from "./compare.ts";
import { inFile, inMemory, onPostgres } from "./engines.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "20" },
    from: { type: "string", default: "0" },
    calls: { type: "string", default: "2000" },
    // Histories to play at once: each mostly waits for PostgreSQL.
    "at-once": { type: "string", default: "6" },
  },
});
const [seeds, from, calls] = [Number(values.seeds), Number(values.from), Number(values.calls)];
const say = (line: string) => void process.stdout.write(`${line}\n`);
const given = process.env["SVC_TEST_POSTGRES"];
const server = given === undefined ? await startServer({}, [], fastFolder) : undefined;
const failed: number[] = [];
let played = 0;

async function play(seed: number): Promise<void> {
  const engines = [
    await inMemory(),
    await inFile(seed),
    await onPostgres(given ?? server?.url("postgres") ?? "", seed),
  ];
  try {
    const found = await compareEngines(seed, calls, engines);
    if (found === undefined) return;
    // On a busy machine a connection may exceed its timeout of 5 s. That is no difference between engines.
    if (found.includes("the database cannot be reached")) {
      say(`seed ${seed}: the database did not answer in time; the history is played again`);
      waiting.push(seed);
      return;
    }
    failed.push(seed);
    say(`seed ${seed}: ${found}\nagain: npm run histories -- --seeds 1 --from ${seed}`);
  } finally {
    for (const engine of engines) await engine.end();
    if (!waiting.includes(seed) && ++played % 10 === 0) say(`so far: ${played} histories, ${failed.length} differ`);
  }
}

const waiting = Array.from({ length: seeds }, (_, i) => from + seeds - 1 - i);
async function playOthers(): Promise<void> {
  for (let seed = waiting.pop(); seed !== undefined; seed = waiting.pop()) await play(seed);
}
await Promise.all(Array.from({ length: Number(values["at-once"]) }, playOthers));
server?.end();
say(`${seeds} histories of ${calls} calls, ${failed.length} differ${failed.length > 0 ? `: ${failed.join(" ")}` : ""}`);
process.exitCode = failed.length > 0 ? 1 : 0;
