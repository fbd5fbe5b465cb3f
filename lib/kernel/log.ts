import { redact, redactField } from "./secret-redaction.ts";

export const levels = ["silent", "error", "warn", "info", "debug"] as const;
export type Level = (typeof levels)[number];

/** What is known about an entry, beside its words. */
export type Fields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Shaped like the loggers that people have, so theirs can be given to `createService({ logger })`. */
export interface Log {
  error(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  info(message: string, fields?: Fields): void;
  debug(message: string, fields?: Fields): void;
}

/** Takes entries, to write them down or to hand them on. */
export type LogSink = (level: keyof Log, message: string, fields: Fields) => void;

/** A logger. Whoever takes its entries, and whatever was logged, what is secret is taken out of them here. */
export function createLog(level: Level, take: LogSink): Log {
  const wanted = levels.indexOf(level);
  const entry = (level: keyof Log) => {
    if (levels.indexOf(level) > wanted) return () => {};
    return (message: string, fields: Fields = {}) => {
      const shown = Object.entries(fields).map(([name, value]) => [name, redactField(name, value)]);
      take(level, redact(message), Object.fromEntries(shown));
    };
  };
  return {
    error: entry("error"),
    warn: entry("warn"),
    info: entry("info"),
    debug: entry("debug"),
  };
}

/** Writes one line an entry: JSON for machines, words for people. */
export const lineSink =
  ({ json, now, write }: { json: boolean; now: () => string; write: (line: string) => void }): LogSink =>
  (level, message, fields) =>
    write(json ? JSON.stringify({ at: now(), level, message, ...fields }) : readable(now(), level, message, fields));

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
