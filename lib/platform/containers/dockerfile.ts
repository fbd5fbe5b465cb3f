import { Failure } from "../runtime/failure.ts";

/** An instruction of a Dockerfile, as one line. */
export interface Instruction {
  /** The line on which it starts, counted from 1. */
  readonly line: number;
  /** In upper case: `COPY`. */
  readonly keyword: string;
  /** `--from=build` */
  readonly options: readonly string[];
  readonly rest: string;
}

export interface Dockerfile {
  readonly escapeCharacter: string;
  readonly instructions: readonly Instruction[];
}

const keywords = [
  ...["ADD", "ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL", "MAINTAINER"],
  ...["ONBUILD", "RUN", "SHELL", "STOPSIGNAL", "USER", "VOLUME", "WORKDIR"],
];
const directive = /^#[ \t]*([a-z]{1,20})[ \t]*=[ \t]*(\S{1,500})/i;
/** Engines disagree on which characters are spaces and which end a line. */
const otherSpace = /(?![ \t])[\p{Cc}\p{Z}]/u;
/** Some engines read the next lines as text, others as instructions. */
const hereDocument = /(?:^|[ \t])\d*(<<-?[^\s<]{1,100})/;

export const at = (line: number, why: string) => new Failure(`line ${line} of the Dockerfile: ${why}`);

/** The advice for a feature that needs BuildKit. */
export const withoutBuildKit =
  "needs BuildKit, which the engine's own builder does not have: write the step without it, or deploy an image that was built elsewhere";

/**
 * Parses a Dockerfile. Refuses forms that engines read differently, so every engine reads the output of
 * `formatInstruction` in the same way.
 */
export function parseDockerfile(text: string): Dockerfile {
  const lines = text.replace(/^\ufeff/, "").split(/\r?\n/);
  const escapeCharacter = escapeOf(lines);
  // After two escape characters, some engines end the line and others continue it.
  const isContinued = escapeCharacter === "`" ? /(?<!`)`[ \t]*$/ : /(?<!\\)\\[ \t]*$/;
  const instructions: Instruction[] = [];
  let whole: string | undefined;
  let first = 0;
  const end = () => {
    if (whole !== undefined) instructions.push(readInstruction(whole, first, escapeCharacter));
    whole = undefined;
  };
  for (const [i, line] of lines.entries()) {
    // An instruction may contain comments and empty lines.
    if (/^[ \t]*(#|$)/.test(line)) continue;
    if (whole === undefined) first = i + 1;
    const part = line.replace(isContinued, "");
    whole = (whole ?? "") + part;
    if (part === line) end();
  }
  end();
  return { escapeCharacter, instructions };
}

function escapeOf(lines: readonly string[]): string {
  for (const line of lines) {
    const [, name = "", value] = directive.exec(line) ?? [];
    if (name.toLowerCase() === "escape" && value === "`") return value;
    if (!["syntax", "check"].includes(name.toLowerCase())) break;
  }
  return "\\";
}

/** Parses one instruction: a line, or the part after `ONBUILD`. */
export function readInstruction(text: string, line: number, escapeCharacter: string): Instruction {
  const odd = otherSpace.exec(text)?.[0].codePointAt(0);
  if (odd !== undefined) {
    const code = `U+${odd.toString(16).toUpperCase().padStart(4, "0")}`;
    throw at(line, `it has the character ${code}, which engines read differently; write a space`);
  }
  const [word = ""] = /\S+/.exec(text) ?? [];
  const keyword = keywords.find((one) => one.toLowerCase() === word.toLowerCase());
  if (keyword === undefined) throw at(line, `${word} is not an instruction`);
  let rest = text.trim().slice(word.length).trim();
  const options: string[] = [];
  for (let option = optionOf(rest); option !== undefined; option = optionOf(rest)) {
    options.push(option);
    rest = rest.slice(option.length).trim();
  }
  if (options.some((one) => /["'\\`]/.test(one)))
    throw at(line, `the options of ${keyword} have quotes or an escape; write them without`);
  if (rest.endsWith(escapeCharacter)) throw at(line, `${keyword} ends with ${escapeCharacter}; nothing continues it`);
  const [, here] = ["RUN", "COPY", "ADD", "ONBUILD"].includes(keyword) ? (hereDocument.exec(rest) ?? []) : [];
  if (here !== undefined) throw at(line, `${keyword} ${here} ${withoutBuildKit}`);
  return { line, keyword, options, rest };
}

const optionOf = (rest: string) => /^--[^ \t]+/.exec(rest)?.[0];

export const formatInstruction = ({ keyword, options, rest }: Omit<Instruction, "line">) =>
  [keyword, ...options, rest].filter((part) => part !== "").join(" ");

/** Replaces the variables of a word and removes its quotes. Undefined for a form that it cannot read. */
export function expand(word: string, values: ReadonlyMap<string, string>): string | undefined {
  let isRead = true;
  const parts = /'([^']*)'|"|\$(\w+)|\$\{(\w+)(?:(:?)([-+])([^{}$]*))?\}|[\\`$']/g;
  const text = word.replace(parts, (whole, quoted, plain, braced, colon, sign, other) => {
    if (quoted !== undefined) return quoted;
    if (whole === '"') return "";
    const value = values.get(plain ?? braced) ?? "";
    const isSet = value !== "" || (colon === "" && values.has(braced));
    if (sign === "-") return isSet ? value : other;
    if (sign === "+") return isSet ? other : "";
    isRead &&= plain !== undefined || braced !== undefined;
    return value;
  });
  return isRead ? text : undefined;
}
