import { redact, redactField } from "./secrets/secret-redaction.ts";

export const levels = ["silent", "error", "warn", "info", "debug"] as const;
export type Level = (typeof levels)[number];

/** The fields of an entry, without its message. */
export type Fields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** The interface of common loggers, so that users can pass theirs to `createService({ logger })`. */
export interface Log {
  error(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  info(message: string, fields?: Fields): void;
  debug(message: string, fields?: Fields): void;
}

export type LogSink = (level: keyof Log, message: string, fields: Fields) => void;

/** A logger. It redacts secrets before any sink sees an entry. */
export function createLog(level: Level, sink: LogSink): Log {
  const limit = levels.indexOf(level);
  const entry = (level: keyof Log) => {
    if (levels.indexOf(level) > limit) return () => {};
    return (message: string, fields: Fields = {}) => {
      const redacted: Record<string, Fields[string]> = {};
      for (const name in fields) redacted[name] = redactField(name, fields[name]);
      sink(level, redact(message), redacted);
    };
  };
  return { error: entry("error"), warn: entry("warn"), info: entry("info"), debug: entry("debug") };
}

/** The message of the entries about finished requests, the only frequent ones. */
export const requestMessage = "request";

interface LineSettings {
  readonly json: boolean;
  readonly now: () => string;
  /** Entries about requests may wait for the end of the tick. `lossOf` is the entry about lines that were lost. */
  readonly write: (line: string, mayWait: boolean, lossOf: (lines: number) => string) => void;
}

export function lineSink({ json, now, write }: LineSettings): LogSink {
  const lineOf = (...[level, message, fields]: Parameters<LogSink>) =>
    json ? JSON.stringify({ at: now(), level, message, ...fields }) : readable(now(), level, message, fields);
  const lossOf = (lines: number) => lineOf("warn", "lines of this log could not be written", { lines });
  return (level, message, fields) => write(lineOf(level, message, fields), message === requestMessage, lossOf);
}

/** Values are quoted and escaped, so that a line break or a colour code in one cannot forge an entry. */
function readable(at: string, level: string, message: string, fields: Fields): string {
  const rest = Object.entries(fields).map(([name, value]) => ` ${name}=${printable(JSON.stringify(value) ?? "")}`);
  return `${at} ${level.padEnd(5)} ${printable(message)}${rest.join("")}`;
}

/** Escapes control characters. JSON does not escape those above U+007E, and terminals interpret some of them. */
const printable = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it finds the control characters that must not reach a terminal
  text.replace(/[\u0000-\u001f\u007f-\u009f]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);

export const reasonOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);
