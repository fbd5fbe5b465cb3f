import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createRandom } from "../../lib/kernel/random.ts";
import { createFacts, type Facts, parseFacts } from "./facts.ts";
import { inLanes, type Report, type Size } from "./report.ts";
import { databaseIn, type Ended, ended, type Faults, type Place, textOf } from "./server.ts";

/** One writer, so that the order of calls is almost the same each time. */
const load = (seed: string) => ({ seed, writers: 1, projects: 6 });

/** Runs the load once and returns the number of its calls that change a file. */
async function countCalls(place: Place, seed: string): Promise<number> {
  const folder = join(place.folder, "count");
  mkdirSync(folder);
  const count = join(place.folder, "calls");
  const { code } = await ended(place.load([folder], load(seed), { count }));
  rmSync(folder, { recursive: true });
  if (code !== 0) throw new Error("the load does not run to its end");
  return Number(textOf(count));
}

/** The numbers of the calls to hit: all of them, or `count` drawn at random. */
function chosen(calls: number, count: number, seed: string): number[] {
  const random = createRandom(`${seed} calls`);
  const drawn = Array.from({ length: calls }, (_, i) => ({ call: i + 1, lot: random.fraction() }));
  return drawn
    .sort((a, b) => a.lot - b.lot)
    .slice(0, count)
    .map(({ call }) => call);
}

interface Case {
  readonly name: string;
  readonly faults: Faults;
}
/** The number of cases that share the process of the next start. */
const casesTogether = 8;
const grouped = (cases: readonly Case[]): Case[][] =>
  Array.from({ length: Math.ceil(cases.length / casesTogether) }, (_, i) =>
    cases.slice(i * casesTogether, (i + 1) * casesTogether),
  );

/** Runs the load with the fault of each case, and checks the files it left, before and after the next start. */
async function faulty(place: Place, seed: string, cases: readonly Case[], expect: (run: Ended) => string[]) {
  const wrong: string[] = [];
  const left: { folder: string; facts: Facts; name: string }[] = [];
  const look = () => {
    for (const { folder, facts, name } of left) {
      try {
        wrong.push(...facts.losses(databaseIn(folder)).map((line) => `${name}: ${line}`));
      } catch (error) {
        wrong.push(`${name}: ${(error as Error).message}`);
      }
    }
  };
  const read = ({ folder, facts }: Pick<(typeof left)[number], "folder" | "facts">) => {
    for (const fact of parseFacts(textOf(join(folder, "acks")))) facts.add(fact);
  };
  for (const { name, faults } of cases) {
    const folder = join(place.folder, name);
    mkdirSync(folder);
    wrong.push(...expect(await ended(place.load([folder], load(seed), faults))).map((line) => `${name}: ${line}`));
    const facts = createFacts();
    read({ folder, facts });
    left.push({ folder, facts, name });
  }
  look();
  // The next start continues on the files that the load left.
  const folders = left.map(({ folder }) => folder);
  const again = await ended(place.load(folders, { ...load(`${seed} again`), projects: 1 }));
  if (again.output !== "ready\nclosed\n")
    wrong.push(`the next start of ${cases.map(({ name }) => name)}: ${again.output}`);
  for (const { folder, facts } of left) read({ folder, facts });
  look();
  for (const folder of folders) rmSync(folder, { recursive: true });
  return wrong.map((line) => `seed ${seed}: ${line}`);
}

/** Kills at the Nth call that changes a file: a write, sync, truncation, creation, rename or removal. */
export async function killsAtCalls(place: Place, { count, seed, until, progress }: Size): Promise<Report> {
  const calls = await countCalls(place, seed);
  let killed = 0;
  const figures = (losses: number) => `killed at ${killed} of ${calls} calls: ${losses} losses`;
  const cases = chosen(calls, count, seed).map((at) => ({ name: `call-${at}`, faults: { at } }));
  const wrong = await inLanes(
    2,
    until,
    grouped(cases).map((group) => () => {
      progress(figures(0));
      return faulty(place, seed, group, ({ signal, output }) => {
        if (signal) killed += 1;
        if (/wrong|refused/.test(output)) return [output];
        return signal === null || signal === "SIGKILL" ? [] : [`ended by ${signal}`];
      });
    }),
  );
  return { figures: figures(wrong.length), wrong };
}

/**
 * Makes three calls fail from the Nth on, with EIO or ENOSPC. The server answers 503 or exits cleanly, and loses
 * nothing.
 */
export async function errorsAtCalls(place: Place, { count, seed, until, progress }: Size): Promise<Report> {
  const calls = await countCalls(place, seed);
  const done = { runs: 0, ended: 0 };
  const figures = (losses: number) =>
    `${done.runs} runs in which three of ${calls} calls failed, half with EIO, half with ENOSPC; ${done.ended} did not start: ${losses} losses`;
  const cases = (["EIO", "ENOSPC"] as const).flatMap((error) =>
    chosen(calls, Math.ceil(count / 2), `${seed} ${error}`).map((at) => ({
      name: `${error}-${at}`,
      faults: { at, error, times: 3 },
    })),
  );
  const wrong = await inLanes(
    2,
    until,
    grouped(cases).map((group) => () => {
      progress(figures(0));
      return faulty(place, seed, group, ({ signal, code, output }) => {
        done.runs += 1;
        if (code === 1) done.ended += 1;
        if (output.includes("wrong")) return [output];
        // A server that cannot write at start-up reports it and exits with 1.
        const inOrder = signal === null && (code === 0 || (code === 1 && output.startsWith("refused")));
        return inOrder ? [] : [`ended with ${code ?? signal}: ${output}`];
      });
    }),
  );
  return { figures: figures(wrong.length), wrong };
}
