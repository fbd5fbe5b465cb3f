import { Failure } from "../runtime/failure.ts";
import { type Build, printed, runStep } from "./build-steps.ts";
import type { Plan } from "./detect.ts";
import type { Box } from "./sandbox.ts";
import { toolsFolder } from "./tools.ts";

const developmentNames = `
const { readFileSync } = require("node:fs");
const read = (file) => JSON.parse(readFileSync(file, "utf8"));
const { dependencies = {}, optionalDependencies = {}, devDependencies = {} } = read("package.json");
for (const name of Object.keys(devDependencies)) {
  if (name in dependencies || name in optionalDependencies) continue;
  try {
    const { bin = {} } = read("node_modules/" + name + "/package.json");
    const programs = typeof bin === "string" ? [name.split("/").pop()] : Object.keys(bin);
    console.log([name, ...programs].join("\\n"));
  } catch {}
}`;

const managers = /\b(npm|npx|yarn|pnpm|bun)\b/;

/** The commands of a release, including the package.json scripts that they call. */
function commandsOf({ release, workers, schedules, scripts }: Plan, start: string): string[] {
  const all = [start, release ?? "", ...[...workers, ...schedules].map(({ command }) => command)];
  const run = new Set<string>();
  for (const command of all)
    for (const word of managers.test(command) ? command.split(/\s+/) : [])
      for (const name of [`pre${word}`, word, `post${word}`]) {
        if (run.has(name) || !Object.hasOwn(scripts, name)) continue;
        run.add(name);
        // This extends the array during iteration, because a script may call others.
        all.push(scripts[name] ?? "");
      }
  return all;
}

/** The package and program names that may occur in commands: `node_modules/.bin/tsx`, `--import=tsx/esm`. */
const meant = (commands: readonly string[]) =>
  new Set(
    commands
      .flatMap((command) => command.split(/[^\w@./-]+/))
      .flatMap((word) => {
        const parts = word.split("/");
        const at = parts.indexOf("node_modules") + 1;
        return [word, parts.at(-1) ?? "", parts[at] ?? "", parts.slice(at, at + 2).join("/")];
      }),
  );

/**
 * Removes a fetched package manager and the development dependencies, unless a command of the app uses one. Returns
 * whether dependencies were removed.
 */
export async function prune(plan: Plan, start: string, box: Box, build: Build): Promise<boolean> {
  const { prune: command, manager } = plan;
  const commands = commandsOf(plan, start);
  const words = meant(commands);
  const removesTools = async () => {
    if (manager && manager.name !== "npm" && !words.has(manager.name))
      await printed(
        `rm -rf ${["pnpm", "yarn", "@yarnpkg", "@oven"].map((one) => `${toolsFolder}/${one}`).join(" ")}`,
        box,
        build,
      );
  };
  if (command === undefined) return false;
  const names = (await printed(`node -e '${developmentNames}'`, box, build)).split("\n").filter((one) => one !== "");
  const needed = names.find((name) => words.has(name));
  if (names.length === 0 || needed !== undefined) {
    if (needed !== undefined)
      build.log({ level: "info", message: `Development dependencies stay: a command of the app needs ${needed}` });
    await removesTools();
    return false;
  }
  build.log({ level: "info", message: `Removing development dependencies: ${command}` });
  try {
    await runStep({ name: "Removing development dependencies", command }, box, build);
  } catch (error) {
    // Without network the install may fail, but every package for production remains.
    if (!(error instanceof Failure) || build.signal.aborted) throw error;
    build.log({ level: "warn", message: `Development dependencies stay: ${error.message}` });
    return false;
  }
  await removesTools();
  return true;
}
