import type { Client, QueryConfig, QueryResult } from "pg";
import type { Connection, Statement, StatementUse } from "../engine.ts";
import type { Runner, Statements } from "./driver.ts";
import type { Ended, Work } from "./group-commit.ts";
import { lockOf } from "./locks.ts";
import { createInserts } from "./merged-inserts.ts";

const done = Promise.resolve();

/** A form of `query()` that the types of `pg` lack. */
type Ask = (query: string | QueryConfig, answered: (error: Error | null, result: QueryResult) => void) => void;

type Run = (parameters: readonly unknown[], mayWrite?: boolean) => Promise<QueryResult<Record<string, unknown>>>;

const statementOf = (run: Run, { mayWrite }: StatementUse = {}): Statement => ({
  all: async (parameters) => (await run(parameters, mayWrite)).rows,
  first: async (parameters) => (await run(parameters, mayWrite)).rows[0],
  run: async (parameters) => (await run(parameters, true)).rowCount ?? 0,
  send: (parameters) => run(parameters, true),
});

export const connectionOf = (runner: Runner, statements: Statements): Connection => ({
  statement: (text) => statementOf((parameters) => runner.query(statements.query(text, parameters))),
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
  /** As `Tx.shared`. */
  readonly shared: Map<string, Promise<unknown>> | undefined;
}

/** Runs each read once in a group, and passes its result to every member that reads the same. */
function sharing(text: string, read: Statement, shared: () => Open["shared"]): Statement {
  const once = <T>(kind: string, parameters: readonly unknown[], run: () => Promise<T>): Promise<T> => {
    const name = `${kind} ${text} ${JSON.stringify(parameters)}`;
    const result = (shared()?.get(name) as Promise<T> | undefined) ?? run();
    shared()?.set(name, result);
    return result;
  };
  return {
    ...read,
    all: async (parameters) => [...(await once("all", parameters, () => read.all(parameters)))],
    first: (parameters) => once("first", parameters, () => read.first(parameters)),
  };
}

const lockingLimits =
  (query: (text: string) => Promise<QueryResult>, open: () => Open): NonNullable<Connection["lockLimit"]> =>
  async (limit) => {
    const own = open();
    if (!own.haveWritten) return void (await query(`SELECT pg_advisory_xact_lock(${lockOf(limit)})`));
    // Do not wait while an earlier member holds row locks: the holder of this lock may be waiting for those rows.
    const { rows } = await query(`SELECT pg_try_advisory_xact_lock(${lockOf(limit)}) AS taken`);
    if (rows[0]?.["taken"] === true) return;
    own.failure = new Error("the lock of a limit is taken");
    throw own.failure;
  };

function sendingOn(client: Client, open: () => Open) {
  const ask = client.query.bind(client) as Ask;
  return {
    /** Rejects with the first error of the transaction. */
    query(query: string | QueryConfig): Promise<QueryResult> {
      // A result may arrive after its transaction has ended.
      const own = open();
      return new Promise((resolve, reject) =>
        ask(query, (error, result) => {
          if (error) own.failure ??= error;
          if (error) reject(own.failure);
          else resolve(result);
        }),
      );
    },
    /** Creates no promise: most write requests would have several (a POST takes 0.9 of the processor time). */
    send(query: QueryConfig): void {
      const own = open();
      ask(query, (error) => {
        if (error) own.failure ??= error;
      });
    },
  };
}

/** A connection that runs one transaction after the other. */
export function writingConnection(client: Client, statements: Statements) {
  let open: Open;
  const { query, send } = sendingOn(client, () => open);
  const inserts = createInserts((text, values) => send(statements.query(text, values)));
  const lockLimit = lockingLimits(
    (text) => {
      inserts.flush();
      return query(text);
    },
    () => open,
  );
  const statement = (text: string, use: StatementUse = {}): Statement => {
    const note = (mayWrite: boolean | undefined) => {
      if (use.changesShared) open.shared?.clear();
      open.hasWritten ||= mayWrite === true;
    };
    const run: Run = (parameters, mayWrite) => {
      inserts.flush();
      note(mayWrite);
      return query(statements.query(text, parameters));
    };
    if (use.isShared) return sharing(text, statementOf(run), () => open.shared);
    return {
      ...statementOf(run, use),
      send(parameters) {
        if (!open.hasWritten) inserts.beginMember();
        note(true);
        if (use.ofRows) inserts.add(use.ofRows, parameters);
        else {
          inserts.flush();
          send(statements.query(text, parameters));
        }
        return done;
      },
    };
  };
  const connection: Connection = {
    statement,
    get newest() {
      return open.newest;
    },
    tell: (message) => void open.messages.push(message),
    get shared() {
      return open.shared;
    },
    lockLimit,
  };
  return {
    connection,
    /** Sends the inserts that wait. */
    flush: inserts.flush,
    /** `isGroup`: the transactions of one organization share what they read. */
    begin(isGroup: boolean): Open {
      inserts.drop();
      open = { messages: [], hasWritten: false, haveWritten: false, shared: isGroup ? new Map() : undefined };
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
