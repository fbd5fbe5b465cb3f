// `npm run simulate -- --seeds 200 --from 0`: runs seeds (each twice with `--twice`), and lists those that fail and the
// parts that none reached.
import { inspect, parseArgs } from "node:util";
import { createCoverage, enoughSeeds } from "./coverage.ts";
import { simulate } from "./simulation.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "200" },
    from: { type: "string", default: "0" },
    twice: { type: "boolean" },
  },
});
const [seeds, from] = [Number(values.seeds), Number(values.from)];
const say = (line: string) => void process.stdout.write(`${line}\n`);
const failed: number[] = [];
const done = { kills: 0, pictures: 0 };
const coverage = createCoverage();
const figures = (count: number) =>
  `${count} seeds, ${done.kills} kills, ${done.pictures} pictures, ${failed.length} failed`;
for (let seed = from; seed < from + seeds; seed++) {
  if (seed > from && (seed - from) % 100 === 0) say(`so far: ${figures(seed - from)}`);
  try {
    const one = await simulate(String(seed));
    done.kills += one.kills;
    done.pictures += one.pictures;
    for (const what of one.reached) coverage.reached.add(what);
    if (!values.twice) continue;
    const two = await simulate(String(seed));
    const at = one.journal.findIndex((line, i) => line !== two.journal[i]);
    if (one.hash !== two.hash) throw new Error(`two runs differ:\n${one.journal[at]}\n${two.journal[at]}`);
  } catch (error) {
    failed.push(seed);
    say(`seed ${seed}: ${inspect(error)}\nagain: npm run simulate -- --seeds 1 --from ${seed}`);
  }
}
const { missing, wrong, unknown } = coverage.report();
for (const one of missing) say(`never reached: ${one}`);
for (const one of wrong) say(`listed as unreachable, and wrongly: ${one}`);
for (const one of unknown) say(`reached, and declared nowhere: ${one}`);
say(`${figures(seeds)}${failed.length > 0 ? `: ${failed.join(" ")}` : ""}`);
say(`reached ${coverage.reached.size}, ${missing.length} never`);
const isJudged = seeds >= enoughSeeds;
if (!isJudged) say(`what was never reached counts from ${enoughSeeds} seeds on`);
const isFull = missing.length === 0 || !isJudged;
process.exitCode = failed.length > 0 || wrong.length > 0 || unknown.length > 0 || !isFull ? 1 : 0;
