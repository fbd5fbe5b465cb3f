import type { Client, QueryConfig, QueryResult } from "pg";
import type { Connection, Statement } from "../engine.ts";
import { queryOf, type Runner } from "./driver.ts";
import type { Ended, Work } from "./group-commit.ts";
import { type Answers, isRead, readOnce } from "./group-reads.ts";
import { lockOf } from "./locks.ts";
import { createInserts } from "./merged-inserts.ts";

const done = Promise.resolve();

/** A form of `query()` that the types of `pg` lack. */
type Ask = (
  statement: string | QueryConfig,
  values: unknown[],
  answered: (error: Error | null, result: QueryResult) => void,
) => void;

type Send = Statement["send"];

/** Runs statements on a connection or a pool. `sending` is for statements whose result no caller awaits. */
export const connectionOf = (
  runner: Runner,
  texts: Set<string>,
  sending: (text: string) => Send = (text) => (parameters) => runner.query(queryOf(text, parameters)),
): Pick<Connection, "statement"> => ({
  statement(text) {
    texts.add(text);
    const run = (parameters: readonly unknown[]) => runner.query(queryOf(text, parameters));
    return {
      all: async (parameters) => (await run(parameters)).rows,
      first: async (parameters) => (await run(parameters)).rows[0],
      run: async (parameters) => (await run(parameters)).rowCount ?? 0,
      send: sending(text),
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

/** Locks limits for the open transaction. */
const lockingLimits =
  (runner: Runner, open: () => Open): NonNullable<Connection["lockLimit"]> =>
  async (limit) => {
    const own = open();
    if (!own.haveWritten) return void (await runner.query(`SELECT pg_advisory_xact_lock(${lockOf(limit)})`));
    // Do not wait while an earlier member holds row locks: the holder of this lock may be waiting for those rows.
    const { rows } = await runner.query(`SELECT pg_try_advisory_xact_lock(${lockOf(limit)}) AS taken`);
    if (rows[0]?.["taken"] === true) return;
    own.failure = new Error("the lock of a limit is taken");
    throw own.failure;
  };

/** A connection that runs one transaction after the other. */
export function writingConnection(client: Client, texts: Set<string>) {
  const ask = client.query.bind(client) as Ask;
  let open: Open;
  const runner: Runner = {
    query(query) {
      inserts.flush();
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
  const send = (text: string, parameters: readonly unknown[]) => {
    const own = open;
    const { statement, values } = queryOf(text, parameters);
    ask(statement, values, (error) => {
      if (error) own.failure ??= error;
    });
  };
  const inserts = createInserts(send);
  const sending = (text: string): Send => {
    const add = inserts.adding(text);
    return (parameters) => {
      if (!open.hasWritten) inserts.beginMember();
      open.hasWritten = true;
      if (add) add(parameters);
      else {
        inserts.flush();
        send(text, parameters);
      }
      return done;
    };
  };
  const connection: Connection = {
    statement: readOnce(connectionOf(runner, texts, sending).statement, () => open.answers),
    get newest() {
      return open.newest;
    },
    tell: (message) => void open.messages.push(message),
    get group() {
      return open.group;
    },
    lockLimit: lockingLimits(runner, () => open),
  };
  return {
    connection,
    /** Sends the inserts that wait. */
    flush: inserts.flush,
    begin(organization_id: string | undefined): Open {
      inserts.drop();
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
