// `npm run histories -- --seeds 20 --from 0 --calls 2000`: the same history on every engine, and the first difference.
import { parseArgs } from "node:util";
import { startServer } from "../postgres/server.ts";
import { compareEngines } from "./compare.ts";
import { inFile, inMemory, onPostgres } from "./engines.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "20" },
    from: { type: "string", default: "0" },
    calls: { type: "string", default: "2000" },
  },
});
const [seeds, from, calls] = [Number(values.seeds), Number(values.from), Number(values.calls)];
const say = (line: string) => void process.stdout.write(`${line}\n`);
const given = process.env["SVC_TEST_POSTGRES"];
const server = given === undefined ? await startServer() : undefined;
const failed: number[] = [];
for (let seed = from; seed < from + seeds; seed++) {
  const engines = [
    await inMemory(),
    await inFile(seed),
    await onPostgres(given ?? server?.url("postgres") ?? "", seed),
  ];
  if (seed > from && (seed - from) % 10 === 0) say(`so far: ${seed - from} histories, ${failed.length} differ`);
  try {
    const found = await compareEngines(seed, calls, engines);
    if (found === undefined) continue;
    failed.push(seed);
    say(`seed ${seed}: ${found}\nagain: npm run histories -- --seeds 1 --from ${seed}`);
  } finally {
    for (const engine of engines) await engine.end();
  }
}
server?.end();
say(`${seeds} histories of ${calls} calls, ${failed.length} differ${failed.length > 0 ? `: ${failed.join(" ")}` : ""}`);
process.exitCode = failed.length > 0 ? 1 : 0;
