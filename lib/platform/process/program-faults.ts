import { quoted } from "../../kernel/text/shell-words.ts";

/** Advice for a program that may not be executed. */
export function notExecutable(program: string): string {
  const denied = `${program} is not executable`;
  if (!program.includes("/"))
    return `${denied}: if the folder of its package, such as node_modules, is in git, remove it there, so that an install makes it executable`;
  const inGit = program.startsWith("/") ? "" : `run \`git update-index --chmod=+x ${program}\` and commit, or `;
  return `${denied}: ${inGit}start it with its interpreter, such as sh ${program}`;
}

/** Advice for a file with the line ends of Windows. */
export const keepLf = (files: string): string =>
  `save it with LF, and keep it so with a line such as "${files} text eol=lf" in .gitattributes`;

const script = (programs: readonly string[]) => `
for file in ${programs.map(quoted).join(" ")}; do
  fault=none
  case "$file" in
    /*) ;;
    */*) if [ ! -f "$file" ]; then :
      elif [ ! -x "$file" ]; then fault=denied
      elif head -n 1 "$file" | grep -q "^#!.*$(printf '\\r')"; then fault=crlf
      fi ;;
  esac
  if [ $fault = none ] && ! command -v "$file" > /dev/null; then fault=absent; fi
  echo $fault
done`;

/** The program that a command names, without variables in front of it; undefined if a shell must find it. */
export const programOf = (command: string): string | undefined =>
  /^(?:exec\s+|\w+=\S*\s+)*([\w./+@-]+)(?=\s|$)/.exec(command.trim())?.[1];

/**
 * The first program of these commands that cannot run: it is not executable, its first line ends as on Windows, or it
 * does not exist. `look` runs a script in the box of the commands, once.
 */
export async function programFault(commands: readonly string[], look: (script: string) => Promise<string>) {
  const programs = commands.map(programOf).filter((one) => one !== undefined);
  if (programs.length === 0) return undefined;
  const faults = (await look(script(programs))).trim().split("\n");
  const [word = ""] = ["denied", "crlf", "absent"].filter((one) => faults.includes(one));
  const program = programs[faults.indexOf(word)];
  if (program === undefined) return undefined;
  const reasons: Readonly<Record<string, string>> = {
    denied: notExecutable(program),
    crlf: `the interpreter of ${program} is not found, because its lines end as on Windows (CRLF): ${keepLf(program.replace(/^\.\//, ""))}`,
  };
  // No reason means that it was not found.
  return { program, reason: reasons[word] };
}

const denied = /^\S*sh: (?:(?:line )?\d+: )?(?:exec: )?(?:line \d+: )?(\S+): Permission denied$/;
/** The program that a shell reports as not executable. */
export const deniedIn = (line: string): string | undefined => denied.exec(line.trim())?.[1];

/** Whether a shell or env printed this line about a script whose lines end as on Windows. */
export const isOfWindows = (line: string): boolean =>
  /\$'\\r': command not found|\\r[’'"]|\^M: bad interpreter/.test(line);
