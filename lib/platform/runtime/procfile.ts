import { maxWorkers } from "../../kernel/limits.ts";
import { Failure } from "./failure.ts";

const maxCommand = 4096;

export const processesIn = (procfile: string) =>
  new Map(
    procfile.split(/\r?\n/).flatMap((line) => {
      const [, name, text] = /^([A-Za-z0-9_-]+):\s*(\S.*)$/.exec(line) ?? [];
      if (!name || !text) return [];
      if (text.length > maxCommand || text.includes("\0"))
        throw new Failure(`the Procfile's ${name.slice(0, 64)} must have at most 4,096 characters, and no NUL`);
      return [[name, text.trim()] as const];
    }),
  );

/** The workers: the Procfile's lines except `web` and `release`. */
export function workersIn(processes: ReadonlyMap<string, string>) {
  const workers = [...processes].flatMap(([name, command]) =>
    ["web", "release"].includes(name) ? [] : [{ name, command }],
  );
  if (workers.length > maxWorkers)
    throw new Failure(`the Procfile has ${workers.length} workers, and ${maxWorkers} are the most`);
  return workers;
}

const shellWords =
  ". : alias bg break case cd command continue eval exec exit export fg for getopts hash if jobs local read readonly return set shift source times trap type ulimit umask unalias unset until wait while";
/** Commands that only a shell can run: its builtins and keywords, and assignments. */
const needsShell = new RegExp(`^\\s*(\\w+=|(${shellWords.replaceAll(".", "\\.").replaceAll(" ", "|")})(\\s|$))`);

/** Replaces the shell with the program if the text is one command, so signals reach the program itself. */
export const replacingShell = (command: string) =>
  /^[\w./@:=,+% '"-]+$/.test(command) && !needsShell.test(command) ? `exec ${command}` : command;
