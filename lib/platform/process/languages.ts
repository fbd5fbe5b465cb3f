import { installCommand } from "./missing-programs.ts";
import type { Machine } from "./probe.ts";
import { outputOf } from "./sandbox.ts";

/** The supported languages, each with a script that prints its version if it works in a box. */
const languages = [
  ["Node", "node", "node --version"],
  ["Python", "python3", "python3 -c 'import venv, ensurepip' && python3 --version"],
  ["Go", "go", "go version"],
] as const;
const managers = ["npm", "yarn", "pnpm", "bun"] as const;

const isFetched = (name: string) => ["yarn", "pnpm", "bun"].includes(name);

const versionIn = (text: string) => /\d{1,9}(\.\d{1,9}){1,5}/.exec(text)?.[0];

/** Describes the languages that builds find on this machine, and the commands that install the missing ones. */
export async function describeLanguages({ sandbox, userOf }: Machine, app: string): Promise<string> {
  const scripts = [...languages, ...managers.map((name) => [name, name, `${name} --version`] as const)];
  const lines = scripts.map(([, , script], i) => `echo "${i} $({ ${script}; } 2>/dev/null | tail -n 1)"`);
  const box = { app, env: { HOME: "/tmp" }, memory_bytes: 1024 ** 3, user: await userOf("doctor") };
  const { code, text } = await outputOf((take) => sandbox.start(lines.join("\n"), box, take));
  if (code !== 0) return `what builds find could not be inspected: ${text.trim()}`;
  const versions = text.trim().split("\n").map(versionIn);
  const fetched = scripts.flatMap(([name], i) => (versions[i] === undefined && isFetched(name) ? [name] : []));
  const parts = scripts.flatMap(([name, program], i) => {
    const version = versions[i];
    if (version !== undefined) return [`${name} ${version}`];
    return isFetched(name) ? [] : [`no ${name} (${installCommand(program)})`];
  });
  const rest = fetched.length > 0 ? `; npm fetches ${fetched.join(", ")} for the apps that ask for them` : "";
  return `builds find ${parts.join(", ")}${rest}`;
}
