export const levels = ["silent", "error", "warn", "info", "debug"] as const;
export type Level = (typeof levels)[number];

/** What is known about an entry, beside its words. Never a secret: callers name what they log. */
export type Fields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Shaped like the loggers that people have, so theirs can be given to `createService({ logger })`. */
export interface Log {
  error(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  info(message: string, fields?: Fields): void;
  debug(message: string, fields?: Fields): void;
}

/** A logger that writes one line an entry: JSON for machines, words for people. */
export function createLog(options: {
  level: Level;
  json: boolean;
  now: () => string;
  write: (line: string) => void;
}): Log {
  const wanted = levels.indexOf(options.level);
  const entry =
    (level: Exclude<Level, "silent">) =>
    (message: string, fields: Fields = {}) => {
      if (levels.indexOf(level) > wanted) return;
      const at = options.now();
      options.write(
        options.json ? JSON.stringify({ at, level, message, ...fields }) : readable(at, level, message, fields),
      );
    };
  return {
    error: entry("error"),
    warn: entry("warn"),
    info: entry("info"),
    debug: entry("debug"),
  };
}

/** Values are quoted, so that a line break or a colour code in one cannot forge an entry. */
function readable(at: string, level: string, message: string, fields: Fields): string {
  const rest = Object.entries(fields).map(([name, value]) => ` ${name}=${printable(JSON.stringify(value) ?? "")}`);
  return `${at} ${level.padEnd(5)} ${printable(message)}${rest.join("")}`;
}

/** Control characters as escapes; JSON leaves those above U+007E as they are, and terminals obey some of them. */
const printable = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not reach a terminal
  text.replace(/[\u0000-\u001f\u007f-\u009f]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** What went wrong, in words, for a log entry. */
export const reasonOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);
