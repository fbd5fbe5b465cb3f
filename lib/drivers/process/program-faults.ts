import { quoted } from "../../kernel/shell-words.ts";

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
  if (fault === "denied")
    return `${program} is not executable: run \`git update-index --chmod=+x ${program}\` and commit, or start it with its interpreter, such as sh ${program}`;
  if (fault === "crlf")
    return `the interpreter of ${program} is not found, because its lines end as on Windows (CRLF): save it with LF, and keep it so with the line "${program.replace(/^\.\//, "")} text eol=lf" in .gitattributes`;
  return undefined;
}

const denied = /^\S*sh: (?:(?:line )?\d+: )?(?:exec: )?(?:line \d+: )?(\S+): Permission denied$/;
/** The program that a shell reports as not executable. */
export const deniedIn = (line: string): string | undefined => denied.exec(line.trim())?.[1];

/** What a shell or env prints for a script whose lines end as on Windows. */
export const isOfWindows = (line: string): boolean =>
  /\$'\\r': command not found|\\r[’'"]|\^M: bad interpreter/.test(line);
