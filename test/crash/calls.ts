import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createRandom } from "../../lib/kernel/random.ts";
import { createFacts, parseFacts } from "./facts.ts";
import { inLanes, type Report, type Size } from "./report.ts";
import { databaseIn, type Ended, ended, type Faults, type Place, textOf } from "./server.ts";

/** One writer, so that the calls come in much the same order each time. */
const load = (seed: string) => ({ seed, writers: 1, projects: 6 });

/** Runs the load once, and answers how many calls it makes that change a file. */
async function countCalls(place: Place, seed: string): Promise<number> {
  const folder = join(place.folder, "count");
  mkdirSync(folder);
  const count = join(place.folder, "calls");
  const { code } = await ended(place.load(folder, load(seed), { count }));
  rmSync(folder, { recursive: true });
  if (code !== 0) throw new Error("the load does not run to its end");
  return Number(textOf(count));
}

/** The numbers of calls to hit: each one, or so many of them spread at random. */
function chosen(calls: number, count: number, seed: string): number[] {
  const random = createRandom(`${seed} calls`);
  const drawn = Array.from({ length: calls }, (_, i) => ({ call: i + 1, lot: random.fraction() }));
  return drawn
    .sort((a, b) => a.lot - b.lot)
    .slice(0, count)
    .map(({ call }) => call);
}

/** Runs the load with one fault, and looks at what it left. */
async function faulty(place: Place, seed: string, name: string, faults: Faults, expect: (run: Ended) => string[]) {
  const folder = join(place.folder, name);
  mkdirSync(folder);
  const run = await ended(place.load(folder, load(seed), faults));
  const facts = createFacts();
  for (const fact of parseFacts(textOf(join(folder, "acks")))) facts.add(fact);
  const wrong = expect(run);
  if (wrong.length === 0) {
    try {
      wrong.push(...facts.losses(databaseIn(folder)));
      // The next start goes on with what is there.
      const again = await ended(place.load(folder, { ...load(`${seed} again`), projects: 1 }));
      if (again.output !== "ready\nclosed\n") wrong.push(`the next start: ${again.output}`);
      for (const fact of parseFacts(textOf(join(folder, "acks")))) facts.add(fact);
      wrong.push(...facts.losses(databaseIn(folder)));
    } catch (error) {
      wrong.push((error as Error).message);
    }
  }
  rmSync(folder, { recursive: true });
  return { run, wrong: wrong.map((line) => `${name} of seed ${seed}: ${line}`) };
}

/** Kills at the Nth call that changes a file: a write, a sync, a truncation, a new file, a renaming, a removal. */
export async function killsAtCalls(place: Place, { count, seed, until }: Size): Promise<Report> {
  const calls = await countCalls(place, seed);
  let killed = 0;
  const numbers = chosen(calls, count, seed);
  const wrong = await inLanes(
    2,
    until,
    numbers.map((at) => async () => {
      const found = await faulty(place, seed, `call-${at}`, { at }, ({ signal, output }) =>
        /wrong|refused/.test(output) ? [output] : signal === null || signal === "SIGKILL" ? [] : [`ended by ${signal}`],
      );
      if (found.run.signal) killed += 1;
      return found.wrong;
    }),
  );
  return { figures: `killed at ${killed} of ${calls} calls: ${wrong.length} losses`, wrong };
}

/** Lets three calls fail from the Nth on, with EIO or ENOSPC. The server answers 503 or ends in order; nothing is lost. */
export async function errorsAtCalls(place: Place, { count, seed, until }: Size): Promise<Report> {
  const calls = await countCalls(place, seed);
  const done = { runs: 0, ended: 0 };
  const cases = (["EIO", "ENOSPC"] as const).flatMap((error) =>
    chosen(calls, Math.ceil(count / 2), `${seed} ${error}`).map((at) => ({ at, error, times: 3 })),
  );
  const wrong = await inLanes(
    2,
    until,
    cases.map((faults) => async () => {
      const found = await faulty(place, seed, `${faults.error}-${faults.at}`, faults, ({ signal, code, output }) => {
        if (output.includes("wrong")) return [output];
        // A start that cannot write says so, and ends with 1.
        const inOrder = signal === null && (code === 0 || (code === 1 && output.startsWith("refused")));
        return inOrder ? [] : [`ended with ${code ?? signal}: ${output}`];
      });
      done.runs += 1;
      if (found.run.code === 1) done.ended += 1;
      return found.wrong;
    }),
  );
  const figures = `${done.runs} runs in which three of ${calls} calls failed, half with EIO, half with ENOSPC; ${done.ended} did not start: ${wrong.length} losses`;
  return { figures, wrong };
}
