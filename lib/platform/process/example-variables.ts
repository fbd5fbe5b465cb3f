import { beginningWithin, hasWithin } from "../runtime/app-settings.ts";

const names = [
  ...["example", "sample", "template", "dist"].map((name) => `.env.${name}`),
  ...[".example.env", "env.example", "env.template"],
];
const assignment = /^(?:export )?([A-Za-z_]\w{0,99}) ?=/;
const maxNames = 100;

/** The variables that a repository names in a file such as `.env.example`. A repository with `.env` sets them itself. */
export function exampleVariables(root: string): { readonly file: string; readonly names: string[] } | undefined {
  const file = hasWithin(root, ".env") ? undefined : names.find((name) => hasWithin(root, name));
  if (file === undefined) return undefined;
  const assigned = beginningWithin(root, file)
    .split("\n")
    .map((line) => assignment.exec(line.trimStart())?.[1])
    .filter((name) => name !== undefined);
  return { file, names: [...new Set(assigned)].slice(0, maxNames) };
}

/** Every app has these. */
const ofEveryApp = new Set(["PORT", "HOST", "NODE_ENV", "DATA_DIR"]);
const maxNamed = 8;

/** Advice that follows the reason of a failed start: which of these variables the environment lacks. */
export function unsetAdvice(
  example: ReturnType<typeof exampleVariables>,
  variables: Readonly<Record<string, string>>,
): string {
  const unset = example?.names.filter((name) => !ofEveryApp.has(name) && !Object.hasOwn(variables, name)) ?? [];
  if (example === undefined || unset.length === 0) return "";
  const more = unset.length > maxNamed ? ` and ${unset.length - maxNamed} more` : "";
  return `; the environment does not set these variables of ${example.file}: ${unset.slice(0, maxNamed).join(", ")}${more}`;
}
