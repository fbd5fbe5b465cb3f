/** The crash suite, started by `npm run test:crash`. */
import { parseArgs } from "node:util";
import { backups, restores } from "./backups.ts";
import { errorsAtCalls, killsAtCalls } from "./calls.ts";
import { kills } from "./kills.ts";
import { power } from "./power.ts";
import type { Report, Size } from "./report.ts";
import { resumes } from "./resumes.ts";
import { createPlace, type Place } from "./server.ts";

interface Part {
  readonly run: (place: Place, size: Size) => Promise<Report>;
  readonly needsShim: boolean;
  /** The count in a manual run; `short` is the count in CI. */
  readonly count: number;
  readonly short: number;
}

const parts: Readonly<Record<string, Part>> = {
  kills: { run: kills, needsShim: false, count: 300, short: 20 },
  resumes: { run: resumes, needsShim: false, count: 300, short: 5 },
  calls: { run: killsAtCalls, needsShim: true, count: 400, short: 8 },
  errors: { run: errorsAtCalls, needsShim: true, count: 400, short: 8 },
  backups: { run: backups, needsShim: false, count: 100, short: 2 },
  restores: { run: restores, needsShim: true, count: 200, short: 5 },
  power: { run: power, needsShim: true, count: 5000, short: 300 },
};

const usage = `Usage: npm run test:crash [-- [PART …] [OPTIONS]]

Kills servers under load, lets their calls fail, and cuts the power, and looks for what was lost.

Parts: ${Object.keys(parts).join(", ")}. Without a part, all of them run.

Options:
  --count N   How often, in each part that runs.
  --minutes N Each part stops after so long, and says how often it was.
  --seed S    What happens follows from it; by default from the time.
  --short     A few of each, as CI runs them.
  --help      Print this text.
`;

function refuse(sentence: string): never {
  process.stderr.write(`${sentence}\n\n${usage}`);
  process.exit(2);
}

function read() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        count: { type: "string" },
        minutes: { type: "string", default: "1000" },
        seed: { type: "string", default: String(Date.now()) },
        short: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    });
  } catch (error) {
    return refuse((error as Error).message.replace(/\. .*$/s, "."));
  }
}

const { values, positionals } = read();
if (values.help) {
  process.stdout.write(usage);
  process.exit();
}
const unknown = positionals.filter((name) => !(name in parts));
if (unknown.length > 0) refuse(`Unknown part: ${unknown.join(", ")}.`);
if (values.count !== undefined && !/^[1-9]\d{0,6}$/.test(values.count))
  refuse(`--count must be a whole number from 1 to 9999999, not "${values.count}".`);
if (!/^[1-9]\d{0,3}$/.test(values.minutes))
  refuse(`--minutes must be a whole number from 1 to 9999, not "${values.minutes}".`);

const place = createPlace();
let failed = 0;
for (const [name, { run, needsShim, count, short }] of Object.entries(parts)) {
  if (positionals.length > 0 && !positionals.includes(name)) continue;
  if (needsShim && place.shim instanceof Error) {
    console.log(`${name}: skipped, because ${place.shim.message}`);
    continue;
  }
  const begun = performance.now();
  const times = Number(values.count ?? (values.short ? short : count));
  const until = begun + Number(values.minutes) * 60_000;
  let reported = begun;
  const progress = (so_far: string) => {
    if (performance.now() - reported < 60_000) return;
    reported = performance.now();
    console.log(`${name}, so far: ${so_far} (${Math.round((reported - begun) / 1000)} s)`);
  };
  const { figures, wrong } = await run(place, { count: times, seed: values.seed, until, progress });
  const seconds = Math.round((performance.now() - begun) / 1000);
  console.log(`${name}: ${figures} (${seconds} s, --seed ${values.seed})`);
  for (const line of wrong.slice(0, 10)) console.error(`  ${line}`);
  failed += wrong.length;
}
process.exit(failed > 0 ? 1 : 0);
