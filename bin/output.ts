import { styleText } from "node:util";
import stringWidth from "string-width";
import { EndedWith } from "./arguments.ts";
import type { Given } from "./define-command.ts";

/** Whether a stream is a terminal that shows colour. With `NO_COLOR` it is not. */
export const hasColor = ({ isTTY, hasColors }: NodeJS.WriteStream): boolean => isTTY === true && hasColors();

export const styled = (style: "bold" | "cyan", text: string): string =>
  hasColor(process.stdout) ? styleText(style, text, { validateStream: false }) : text;

/** Breaks a text at its spaces into lines of at most `size` characters. Only a longer word makes a longer line. */
export const wrapped = (text: string, size: number): string[] =>
  text.match(new RegExp(`\\S.{0,${size - 1}}(?=\\s|$)|\\S+`, "g")) ?? [];

/** Prints one or more lines. If that fails, the command goes on, and `svc-server` reports the failure at the end. */
export const say = (text: string) => void process.stdout.write(`${text}\n`);

/** Prints the result of a command: with `--json` the record, else the text. */
export const sayResult = ({ json }: Given, record: unknown, text: string) => say(json ? JSON.stringify(record) : text);

/** Prints a sentence about the command itself, to stderr. */
export const note = (sentence: string) => void process.stderr.write(`svc-server: ${sentence}\n`);

type Unwritten = NodeJS.ErrnoException;

/** Whether the reader of stdout, such as head, has left. That is no failure. */
export const hasReaderLeft = ({ code }: Unwritten) => code === "EPIPE" || code === "EOF";

export const describeUnwritten = ({ message }: Unwritten) => `the output could not be written: ${message}`;

/** Prints, and resolves once the text is written. If that fails, rejects with an error that ends the command. */
const written = (text: string, endOf: (error: Unwritten) => EndedWith) =>
  new Promise<void>((resolve, reject) => {
    process.stdout.write(`${text}\n`, (error) => (error ? reject(endOf(error)) : resolve()));
  });

/** Prints a line of a command that only prints. If its reader has left, the command ends. */
export const sayToReader = (text: string) =>
  written(text, (error) => (hasReaderLeft(error) ? new EndedWith(0) : new EndedWith(1, describeUnwritten(error))));

export const lostKey = (revoke: string) =>
  `the new key is lost. Revoke it with svc-server ${revoke}, and create another`;

/** Prints a text with a secret that is shown only once. If that fails, the error contains the remedy. */
export const saySecret = (text: string, remedy: string) =>
  written(text, (error) => new EndedWith(1, `${describeUnwritten(error)}; ${remedy}`));

/** `1 user`, `2 users`: for plurals that end in s. */
export const counted = (count: number, plural: string) => `${count} ${count === 1 ? plural.replace(/s$/, "") : plural}`;

export const describeLost = (lost: readonly string[]) =>
  `${lost.length === 1 ? "the file of 1 generation is" : `the files of ${lost.length} generations are`} missing or changed, such as that of ${lost[0]}`;

/**
 * Formats columns, each as wide as its widest cell. Replaces control characters, so no cell can control the terminal.
 */
export function table(cells: readonly (readonly string[])[]): string {
  const rows = cells.map((row) => row.map((cell) => cell.replaceAll(/\p{Cc}/gu, "\ufffd")));
  const widths = rows.reduce<number[]>(
    (widest, row) => row.map((cell, i) => Math.max(widest[i] ?? 0, stringWidth(cell))),
    [],
  );
  const padded = (cell: string, i: number) => cell + " ".repeat((widths[i] ?? 0) - stringWidth(cell));
  return rows.map((row) => row.map(padded).join("  ").trimEnd()).join("\n");
}

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const cell = (value: unknown) =>
  value === null || value === undefined ? "-" : typeof value === "object" ? JSON.stringify(value) : String(value);

/**
 * One field of an answer, such as `source.repo`: text unchanged, other values as JSON. For a list, one line for each
 * record.
 */
export function fieldOf(answer: unknown, path: string, { json = false } = {}): string {
  const [first = ""] = path.split(".");
  if (isRecord(answer) && Array.isArray(answer["data"]) && !Object.hasOwn(answer, first))
    return answer["data"].map((record) => fieldOf(record, path, { json })).join("\n");
  const value = path.split(".").reduce((within, name) => {
    if (isRecord(within) && Object.hasOwn(within, name)) return within[name];
    const fields = isRecord(within) ? `; its fields are ${Object.keys(within).join(", ")}` : "";
    throw new Error(`the answer has no field "${path}"${answer === undefined ? ", because it is empty" : fields}`);
  }, answer);
  return typeof value === "string" && !json ? value : JSON.stringify(value);
}

export function formatAnswer(answer: unknown): string {
  if (!isRecord(answer)) return answer === undefined ? "Done." : cell(answer);
  const { data, meta, ...record } = answer;
  if (!Array.isArray(data))
    return table(
      Object.entries({ ...(data !== undefined && { data }), ...record }).map(([key, value]) => [key, cell(value)]),
    );
  const rows = data.filter(isRecord);
  const names = [...new Set(rows.flatMap(Object.keys))];
  const lines =
    rows.length > 0
      ? table([names.map((name) => name.toUpperCase()), ...rows.map((row) => names.map((name) => cell(row[name])))])
      : "The list is empty.";
  const next =
    isRecord(meta) && typeof meta["next_cursor"] === "string" ? `\nNext page: cursor=${meta["next_cursor"]}` : "";
  return lines + next;
}
