/** The processes of a Procfile, by their names. */
export const processesIn = (procfile: string) =>
  new Map(
    procfile.split(/\r?\n/).flatMap((line) => {
      const [, name, text] = /^([A-Za-z0-9_-]+):\s*(\S.*)$/.exec(line) ?? [];
      return name && text ? [[name, text.trim()] as const] : [];
    }),
  );

/** The further lines of a Procfile. */
export const workersIn = (processes: ReadonlyMap<string, string>) =>
  [...processes].flatMap(([name, command]) => (["web", "release"].includes(name) ? [] : [{ name, command }]));

const shellWords =
  ". : alias bg break case cd command continue eval exec exit export fg for getopts hash if jobs local read readonly return set shift source times trap type ulimit umask unalias unset until wait while";
/** What only a shell does: its own words, and assignments. */
const needsShell = new RegExp(`^\\s*(\\w+=|(${shellWords.replaceAll(".", "\\.").replaceAll(" ", "|")})(\\s|$))`);

/** The text of one command replaces its shell, so that signals reach the program itself. */
export const replacingShell = (command: string) =>
  /^[\w./@:=,+% '"-]+$/.test(command) && !needsShell.test(command) ? `exec ${command}` : command;
