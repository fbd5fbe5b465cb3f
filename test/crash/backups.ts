import { cpSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createFacts, type Fact, type Facts, parseFacts } from "./facts.ts";
import type { Report, Size } from "./report.ts";
import { databaseIn, ended, type Place, textOf } from "./server.ts";

const factsIn = (folder: string): Fact[] => parseFacts(textOf(join(folder, "acks")));

/** The facts for a copy begun after the first `before` facts: a copy must hold those, and may hold later ones. */
function factsAt(all: readonly Fact[], before: number): Facts {
  const facts = createFacts();
  for (const [i, [when, what, ...rest]] of all.entries()) {
    if (i < before) facts.add([when, what, ...rest]);
    else if (what !== "made") facts.add(["try", what, ...rest]);
  }
  return facts;
}

const failure = (name: string, { code, output }: { code: number | null; output: string }) =>
  code === 0 ? [] : [`${name} ended with ${code}: ${output}`];

/**
 * Backs up a server under load and restores each copy. A copy must hold everything acknowledged before its backup
 * began.
 */
export async function backups(place: Place, { count, seed, until, progress }: Size): Promise<Report> {
  const folder = join(place.folder, "backups");
  mkdirSync(folder);
  const server = place.load([folder], { seed, writers: 6, projects: 0 });
  const end = ended(server);
  await new Promise((resolve) => server.stdout?.once("data", resolve));
  const wrong: string[] = [];
  const times: number[] = [];
  let changes = 0;
  for (let number = 0; number < count && wrong.length === 0 && performance.now() < until; number++) {
    const [copy, restored] = [join(folder, "copy"), join(folder, "restored")];
    mkdirSync(restored);
    changes = factsIn(folder).length;
    const begun = performance.now();
    wrong.push(
      ...failure("backup", await ended(place.program(["backup", copy, "--database", databaseIn(folder), "--force"]))),
    );
    times.push(performance.now() - begun);
    const facts = factsAt(factsIn(folder), changes);
    wrong.push(
      ...failure("restore", await ended(place.program(["restore", copy, "--database", databaseIn(restored)]))),
    );
    if (wrong.length === 0) wrong.push(...facts.losses(databaseIn(restored)));
    rmSync(restored, { recursive: true });
    progress(`${times.length} backups under load`);
  }
  server.kill("SIGKILL");
  await end;
  times.sort((a, b) => a - b);
  const median = Math.round(times[Math.floor(times.length / 2)] ?? 0);
  const figures = `${times.length} backups under load, each restored, ${changes} changes by then; median ${median} ms, longest ${Math.round(times.at(-1) ?? 0)} ms: ${wrong.length} losses`;
  rmSync(folder, { recursive: true });
  return { figures, wrong };
}

/** Makes a database from its own seed, with the facts about it. */
async function made(place: Place, name: string, seed: string): Promise<{ folder: string; facts: Facts }> {
  const folder = join(place.folder, name);
  mkdirSync(folder);
  await ended(place.load([folder], { seed, writers: 2, projects: 3 }));
  const facts = createFacts();
  for (const fact of factsIn(folder)) facts.add(fact);
  return { folder, facts };
}

/**
 * Kills `restore --force` `count` times, spread evenly over its calls. After each, either the old set or the new one is
 * whole.
 */
export async function restores(place: Place, { count, seed, until, progress }: Size): Promise<Report> {
  const old = await made(place, "old", `${seed} old`);
  const fresh = await made(place, "new", `${seed} new`);
  const copy = join(place.folder, "copy");
  const wrong = failure("backup", await ended(place.program(["backup", copy, "--database", databaseIn(fresh.folder)])));
  const [target, number] = [join(place.folder, "target"), join(place.folder, "number")];
  const restore = async (faults: object) => {
    rmSync(target, { recursive: true, force: true });
    cpSync(old.folder, target, { recursive: true });
    const words = ["restore", copy, "--database", databaseIn(target), "--force"];
    return ended(place.program(words, { folder: target, ...faults }));
  };
  wrong.push(...failure("restore", await restore({ count: number })));
  const calls = Number(textOf(number));
  const seen = { old: 0, new: 0 };
  for (let kill = 0; kill < count && wrong.length === 0 && performance.now() < until; kill++) {
    const at = Math.floor(((kill + 0.5) / count) * calls) + 1;
    const { signal } = await restore({ at });
    if (signal !== "SIGKILL") wrong.push(`the restore was not killed at call ${at}`);
    rmSync(join(target, "acks"), { force: true });
    // The next start completes or undoes the interrupted restore.
    const next = await ended(place.load([target], { seed, writers: 1, projects: 1 }));
    if (next.output !== "ready\nclosed\n") wrong.push(`the next start: ${next.output}`);
    const [losses = [], others = []] = [old.facts, fresh.facts].map((facts) => facts.losses(databaseIn(target)));
    if (losses.length === 0) seen.old += 1;
    else if (others.length === 0) seen.new += 1;
    else wrong.push(`killed at call ${at}: neither set is whole: ${losses[0]}; ${others[0]}`);
    progress(`killed ${kill + 1} times`);
  }
  for (const folder of [old.folder, fresh.folder, target]) rmSync(folder, { recursive: true, force: true });
  const figures = `restore --force killed ${seen.old + seen.new} times at ${calls} calls: ${seen.old} times the old set, ${seen.new} times the new one, ${wrong.length} harmed`;
  return { figures, wrong };
}
