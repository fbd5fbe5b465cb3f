import assert from "node:assert/strict";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { run as command } from "../../bin/main.ts";
import { temporaryFolder } from "./program.ts";

/** An empty folder as the working directory, for a user without profiles. */
export function userFolder(t: TestContext) {
  const folder = temporaryFolder(t);
  const home = process.cwd();
  process.chdir(folder);
  t.after(() => process.chdir(home));
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return name;
  };
  return { folder, file };
}

/** Sets environment variables while `work` runs. */
export async function within<T>(variables: Readonly<Record<string, string>>, work: () => Promise<T>): Promise<T> {
  const before = { ...process.env };
  Object.assign(process.env, variables);
  try {
    return await work();
  } finally {
    for (const name of Object.keys(variables)) delete process.env[name];
    Object.assign(process.env, before);
  }
}

type UserFolder = ReturnType<typeof userFolder>;
type Case = readonly [words: readonly string[], sentence: RegExp, more?: Record<string, string>];

/** Asserts that each command exits with this code and its message, and creates nothing in the folder. */
export async function refuses({ folder }: UserFolder, code: number, cases: readonly Case[]): Promise<void> {
  const before = readdirSync(folder);
  const nobody = { XDG_CONFIG_HOME: join(folder, "config"), APPDATA: join(folder, "config"), SVC_PORT: "0" };
  for (const [words, sentence, more = {}] of cases) {
    const outcome = await within({ ...nobody, ...more }, () => command(words));
    assert.equal(outcome.code, code, `${words.join(" ")}: ${outcome.message}`);
    assert.match(outcome.message ?? "", sentence);
    assert.ok(!outcome.message?.includes("hush"));
  }
  assert.deepEqual(readdirSync(folder), before, "nothing was made");
}
