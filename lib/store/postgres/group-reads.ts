import type { Connection, Statement } from "../engine.ts";

/** Tables that most writes of an organization read. Only transactions of the same organization change their rows. */
const kept = new Set(["projects", "removals", "endpoints", "environments"]);

const tablesOf = (text: string) =>
  [...text.matchAll(/\b(?:from|join|into|update)\s+"?(\w+)/g)].map(([, name = ""]) => name);

/** Whether a statement writes nothing and locks no row. */
export const isRead = (text: string): boolean => text.startsWith("select") && !text.includes("for update");

/**
 * Cached results of a group, by statement. Cleared when a member writes to one of these tables. The few calls of a
 * statement are compared one by one: a text of their parameters, as a key, would be made and hashed at each read.
 */
export type Answers = Map<string, Call[]>;

interface Call {
  readonly parameters: readonly unknown[];
  readonly result: Promise<unknown>;
}

/** A group as in `Tx.group`, with its cached results. */
export interface Together {
  readonly organization_id?: string;
  readonly answers: Answers;
}

/**
 * Runs each read of these tables once per group and reuses the result: no transaction outside the group changes these
 * rows meanwhile. This leaves three of the six statements of a POST of a deployment.
 */
export function readOnce(
  statement: Connection["statement"],
  answers: () => Answers | undefined,
): Connection["statement"] {
  return (text) => {
    const made = statement(text);
    const tables = tablesOf(text);
    if (isRead(text))
      return tables.length > 0 && tables.every((table) => kept.has(table)) ? remembered(made, text, answers) : made;
    return tables.some((table) => kept.has(table)) ? forgetting(made, answers) : made;
  };
}

/** The result of the same call in this group, or else of `run`. */
function once<T>(known: Answers, text: string, parameters: readonly unknown[], run: () => Promise<T>): Promise<T> {
  const calls = known.get(text) ?? [];
  const present = calls.find((call) => parameters.every((value, i) => value === call.parameters[i]));
  if (present) return present.result as Promise<T>;
  const result = run();
  if (calls.push({ parameters, result }) === 1) known.set(text, calls);
  return result;
}

function remembered(made: Statement, text: string, answers: () => Answers | undefined): Statement {
  const [all, first] = [`all ${text}`, `first ${text}`];
  return {
    ...made,
    all(parameters) {
      const known = answers();
      if (!known) return made.all(parameters);
      return once(known, all, parameters, () => made.all(parameters)).then((rows) => [...rows]);
    },
    first(parameters) {
      const known = answers();
      return known ? once(known, first, parameters, () => made.first(parameters)) : made.first(parameters);
    },
  };
}

function forgetting(made: Statement, answers: () => Answers | undefined): Statement {
  const write =
    <T>(run: (parameters: readonly unknown[]) => T) =>
    (parameters: readonly unknown[]): T => {
      answers()?.clear();
      return run(parameters);
    };
  return { all: write(made.all), first: write(made.first), run: write(made.run), send: write(made.send) };
}
