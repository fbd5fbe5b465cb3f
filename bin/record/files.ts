import { accessSync, constants, existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Seed } from "../../lib/config/seed.ts";
import type { NewScenario } from "../../lib/features/scenarios/schema.ts";
import { UsageError } from "../arguments.ts";
import type { Recorder } from "./recorder.ts";
import { scenariosOf } from "./scenarios-of.ts";
import { organizationOf, readAccounts } from "./seed-of.ts";

export interface Recording {
  readonly seed: Seed;
  readonly scenarios: readonly NewScenario[];
  readonly test?: string | undefined;
  /** The parts that could not be recorded, with the reasons. */
  readonly left: readonly string[];
}

/** The test, and what it leaves out, with the reasons. If the test cannot be written, only the reason for that. */
function writtenBy(writeTest: () => Written | undefined): Partial<Written> {
  try {
    return writeTest() ?? {};
  } catch (error) {
    return { left: [`the test: ${(error as Error).message}`] };
  }
}

interface Written {
  readonly text: string;
  readonly left: readonly string[];
}

/** The recording of everything that the recorder saw, without secrets, and the test, if one is wanted. */
export function recordingOf(
  recorder: Recorder,
  keepsPeople: boolean,
  writeTest: () => Written | undefined = () => undefined,
): Recording {
  const left: string[] = [];
  const { accounts, people, cleaner } = readAccounts(recorder, keepsPeople);
  const organizations = accounts.map((account, i) =>
    organizationOf(account, people[i] ?? [], { number: i + 1, cleaner, left }),
  );
  const scenarios = accounts.flatMap((account) => scenariosOf(account, cleaner));
  const test = writtenBy(writeTest);
  return { seed: { organizations }, scenarios, test: test.text, left: [...left, ...(test.left ?? [])] };
}

const jsonOf = (content: unknown) => `${JSON.stringify(content, null, 2)}\n`;

/** Opens a folder for a recording and creates it if needed. Refuses a folder that already has a recording. */
export function openFiles(folder: string, writesTest: boolean) {
  const paths = {
    seed: join(folder, "seed.json"),
    scenarios: join(folder, "scenarios.json"),
    ...(writesTest && { test: join(folder, "recorded.test.mjs") }),
  };
  const present = Object.values(paths).find((path) => existsSync(path));
  if (present !== undefined)
    throw new UsageError(`${present} is there already; name another folder with --out, or remove it`);
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
  } catch (error) {
    throw new UsageError(`option --out must name a folder that can be written: ${(error as Error).message}`);
  }
  const written = new Map<string, string>();
  const write = (path: string, text: string) => {
    if (written.get(path) === text) return;
    // Written atomically: after a kill, either the old or the new file is complete.
    writeFileSync(`${path}.part`, text);
    renameSync(`${path}.part`, path);
    written.set(path, text);
  };
  return {
    paths,
    write({ seed, scenarios, test }: Recording) {
      write(paths.seed, jsonOf(seed));
      write(paths.scenarios, jsonOf(scenarios));
      if (paths.test !== undefined && test !== undefined) write(paths.test, test);
    },
  };
}
