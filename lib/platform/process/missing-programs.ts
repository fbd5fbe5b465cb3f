const debian = (names: string) => `apt-get install ${names}`;
const python = debian("python3 python3-venv");
const compilers = debian("build-essential");

const commands: Readonly<Record<string, string>> = {
  ...{ python3: python, go: debian("golang-go"), npm: debian("npm") },
  ...Object.fromEntries(["gcc", "g++", "cc", "make"].map((one) => [one, compilers])),
  ...{ cmake: debian("cmake"), ruby: debian("ruby"), bundle: debian("ruby-bundler"), php: debian("php-cli") },
  ...{ java: debian("default-jre-headless"), mvn: debian("maven"), cargo: debian("cargo"), curl: debian("curl") },
  ...{ ffmpeg: debian("ffmpeg"), psql: debian("postgresql-client"), sqlite3: debian("sqlite3") },
  ...Object.fromEntries(["yarn", "pnpm", "bun"].map((one) => [one, `npm install --global ${one}`])),
};

/** The command that installs a program for all users; undefined for an unknown program. */
export const installCommand = (program: string): string | undefined =>
  Object.hasOwn(commands, program) ? commands[program] : undefined;

/** Build output that reveals a missing part of the machine, the part's name, and the command that installs it. */
const signs: readonly (readonly [RegExp, string, string])[] = [
  [/ensurepip is not available|No module named '?(venv|ensurepip)/, "module venv of Python", python],
  [
    /command '[^']*(gcc|g\+\+|cc|clang)' failed: No such file|unable to execute '[^']*(gcc|g\+\+|cc)'/,
    "gcc",
    compilers,
  ],
  [
    /"(gcc|g\+\+|cc)": executable file not found|C compiler [^ ]{0,60} not found|not found: make$/,
    "gcc or make",
    compilers,
  ],
  [/Python\.h: No such file/, "Python.h", debian("python3-dev")],
  [/pg_config executable not found/, "pg_config", debian("libpq-dev")],
  [/Could not find any Python installation/, "python3", python],
];

const notFound = /^\S*sh: (?:(?:line )?\d+: )?(?:exec: )?(?:line \d+: )?(\S+): (?:command )?not found$/;

/** The command that a shell reports as not found. */
export const notFoundIn = (line: string): string | undefined => notFound.exec(line.trim())?.[1];

export const lacking = (part: string, command: string) =>
  `builds find no ${part} on this machine; install it for all users: ${command}`;

/** Messages of a Go that is older than `go.mod` requires. The first form is from Go up to 1.20. */
const newerGo = /invalid go version '([\d.]{1,20})'|requires go >= ([\d.]{1,20}\d)/;

/** The message about the missing part that a line of build output reveals; undefined if it reveals none. */
export function lackIn(line: string): string | undefined {
  const [, old, newer = old] = newerGo.exec(line) ?? [];
  if (newer !== undefined)
    return lacking(`Go ${newer}, which go.mod asks for,`, "a golang-go of Debian's backports, or https://go.dev/dl");
  const [, part, command] = signs.find(([sign]) => sign.test(line)) ?? [];
  return part === undefined || command === undefined ? undefined : lacking(part, command);
}
