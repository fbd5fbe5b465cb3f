/** The processes of a Procfile by name. */
export const processesIn = (procfile: string) =>
  new Map(
    procfile.split(/\r?\n/).flatMap((line) => {
      const [, name, text] = /^([A-Za-z0-9_-]+):\s*(\S.*)$/.exec(line) ?? [];
      return name && text ? [[name, text.trim()] as const] : [];
    }),
  );

/** The workers: the Procfile's lines except `web` and `release`. */
export const workersIn = (processes: ReadonlyMap<string, string>) =>
  [...processes].flatMap(([name, command]) => (["web", "release"].includes(name) ? [] : [{ name, command }]));

const shellWords =
  ". : alias bg break case cd command continue eval exec exit export fg for getopts hash if jobs local read readonly return set shift source times trap type ulimit umask unalias unset until wait while";
/** Commands that only a shell can run: its builtins and keywords, and assignments. */
const needsShell = new RegExp(`^\\s*(\\w+=|(${shellWords.replaceAll(".", "\\.").replaceAll(" ", "|")})(\\s|$))`);

/** Replaces the shell with the program if the text is one command, so signals reach the program itself. */
export const replacingShell = (command: string) =>
  /^[\w./@:=,+% '"-]+$/.test(command) && !needsShell.test(command) ? `exec ${command}` : command;
