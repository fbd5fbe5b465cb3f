import type { Client, QueryConfig, QueryResult } from "pg";
import type { Connection } from "./engine.ts";
import { type Answers, isRead, readOnce } from "./group-reads.ts";
import { type BoundStatement, queryOf, type Runner } from "./postgres.ts";
import type { Ended, Work } from "./postgres-groups.ts";
import { lockOf } from "./postgres-locks.ts";

const done = Promise.resolve();

/** A form of `query()` that the types of `pg` lack. */
type Ask = (
  statement: string | QueryConfig,
  values: unknown[],
  answered: (error: Error | null, result: QueryResult) => void,
) => void;

/** Runs statements on a connection or a pool. `send` is for statements whose result no caller awaits. */
export const connectionOf = (
  runner: Runner,
  texts: Set<string>,
  send: (query: BoundStatement) => Promise<unknown> = runner.query,
): Pick<Connection, "statement"> => ({
  statement(text) {
    texts.add(text);
    const run = (parameters: readonly unknown[]) => runner.query(queryOf(text, parameters));
    return {
      all: async (parameters) => (await run(parameters)).rows,
      first: async (parameters) => (await run(parameters)).rows[0],
      run: async (parameters) => (await run(parameters)).rowCount ?? 0,
      send: (parameters) => send(queryOf(text, parameters)),
    };
  },
});

/** The state of the open transaction of a connection. */
export interface Open {
  readonly messages: string[];
  /** Known once the transaction has its locks. */
  newest?: string | undefined;
  /** The first error. Errors of later statements only follow from it. */
  failure?: unknown;
  /** Whether the current member (`hasWritten`) or an earlier one (`haveWritten`) may have written or locked a row. */
  hasWritten: boolean;
  haveWritten: boolean;
  readonly group: Connection["group"];
  readonly answers: Answers | undefined;
}

/** A connection that runs one transaction after the other. */
export function writingConnection(client: Client, texts: Set<string>) {
  const ask = client.query.bind(client) as Ask;
  let open: Open;
  const runner: Runner = {
    query(query) {
      // A result may arrive after its transaction has ended.
      const own = open;
      const { statement, values } = typeof query === "string" ? { statement: query, values: [] } : query;
      if (typeof statement === "object" && !isRead(statement.text)) own.hasWritten = true;
      return new Promise((resolve, reject) =>
        ask(statement, values, (error, result) => {
          if (error) own.failure ??= error;
          if (error) reject(own.failure);
          else resolve(result);
        }),
      );
    },
  };
  /** Creates no promise: most write requests would have several (a POST takes 0.9 of the processor time). */
  const send = ({ statement, values }: BoundStatement) => {
    const own = open;
    own.hasWritten = true;
    ask(statement, values, (error) => {
      if (error) own.failure ??= error;
    });
    return done;
  };
  const lockLimit: Connection["lockLimit"] = async (limit) => {
    if (!open.haveWritten) return void (await runner.query(`SELECT pg_advisory_xact_lock(${lockOf(limit)})`));
    // Do not wait while an earlier member holds row locks: the holder of this lock may be waiting for those rows.
    const { rows } = await runner.query(`SELECT pg_try_advisory_xact_lock(${lockOf(limit)}) AS taken`);
    if (rows[0]?.["taken"] === true) return;
    open.failure = new Error("the lock of a limit is taken");
    throw open.failure;
  };
  const connection: Connection = {
    statement: readOnce(connectionOf(runner, texts, send).statement, () => open.answers),
    get newest() {
      return open.newest;
    },
    tell: (message) => void open.messages.push(message),
    get group() {
      return open.group;
    },
    lockLimit,
  };
  return {
    connection,
    begin(organization_id: string | undefined): Open {
      const group = organization_id === undefined ? undefined : { organization_id };
      open = {
        messages: [],
        hasWritten: false,
        haveWritten: false,
        group,
        answers: group && new Map(),
      };
      return open;
    },
  };
}

/** Runs a member of a group. If it fails before it has written, the other members go on. */
export async function runIn(open: Open, connection: Connection, work: Work, isAlone: boolean): Promise<Ended> {
  const told = open.messages.length;
  open.haveWritten ||= open.hasWritten;
  open.hasWritten = false;
  try {
    const value = await work.run(connection);
    if (open.failure) throw open.failure;
    return { value };
  } catch (error) {
    if (isAlone || open.failure || open.hasWritten) throw error;
    open.messages.length = told;
    return { error };
  }
}
