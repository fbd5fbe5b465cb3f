import { quoted } from "../../kernel/text/shell-words.ts";

/** What helps where a program may not be executed. */
export function notExecutable(program: string): string {
  const denied = `${program} is not executable`;
  if (!program.includes("/"))
    return `${denied}: if the folder of its package, such as node_modules, is in git, remove it there, so that an install makes it executable`;
  const inGit = program.startsWith("/") ? "" : `run \`git update-index --chmod=+x ${program}\` and commit, or `;
  return `${denied}: ${inGit}start it with its interpreter, such as sh ${program}`;
}

/** What helps where a file has the line ends of Windows. */
export const keepLf = (files: string): string =>
  `save it with LF, and keep it so with a line such as "${files} text eol=lf" in .gitattributes`;

/** Prints what is wrong with a file of the repository that a command runs. */
const script = (path: string) => `
file=${quoted(path)}
if [ ! -f "$file" ]; then exit 0; fi
if [ ! -x "$file" ]; then echo denied
elif head -n 1 "$file" | grep -q "^#!.*$(printf '\\r')"; then echo crlf
fi`;

/** The program that a command names, without variables in front of it; undefined if a shell must find it. */
export const programOf = (command: string): string | undefined =>
  /^(?:exec\s+|\w+=\S*\s+)*([\w./+@-]+)(?=\s|$)/.exec(command.trim())?.[1];

/**
 * Why a command cannot run a file of the repository: it is not executable, or its first line ends as on Windows, so that
 * its interpreter is not found. `look` runs a script where the command runs.
 */
export async function programFault(
  command: string,
  look: (script: string) => Promise<string>,
): Promise<string | undefined> {
  const program = programOf(command);
  if (program === undefined || !program.includes("/") || program.startsWith("/")) return undefined;
  const fault = (await look(script(program))).trim();
  if (fault === "denied") return notExecutable(program);
  if (fault === "crlf")
    return `the interpreter of ${program} is not found, because its lines end as on Windows (CRLF): ${keepLf(program.replace(/^\.\//, ""))}`;
  return undefined;
}

const denied = /^\S*sh: (?:(?:line )?\d+: )?(?:exec: )?(?:line \d+: )?(\S+): Permission denied$/;
/** The program that a shell reports as not executable. */
export const deniedIn = (line: string): string | undefined => denied.exec(line.trim())?.[1];

/** What a shell or env prints for a script whose lines end as on Windows. */
export const isOfWindows = (line: string): boolean =>
  /\$'\\r': command not found|\\r[’'"]|\^M: bad interpreter/.test(line);
