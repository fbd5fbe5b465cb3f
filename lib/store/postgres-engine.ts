import { sql } from "kysely";
import type { Client, QueryResult } from "pg";
import type { Connection, Engine, EngineScope, Shared } from "./engine.ts";
import { connectionConfig, queryBuilder, queryOf, type Runner } from "./postgres.ts";
import { commit } from "./postgres-commit.ts";
import { codeOf, isLost, translate } from "./postgres-errors.ts";
import { createGroups, type Ended, type Work } from "./postgres-groups.ts";
import type { Driver, Link } from "./postgres-link.ts";
import { lockingOf, lockOf } from "./postgres-locks.ts";
import { createPool } from "./postgres-pool.ts";
import { createSignals, sendingOf } from "./postgres-signals.ts";
import { followDatabaseTime } from "./postgres-time.ts";
import { stopped } from "./write-failure.ts";

/** For reads outside of transactions. */
const readers = 4;
/** For counters. */
const counting = 1;
type Answer = ReturnType<Runner["query"]>;

/** The statements of a connection, or of a pool of them. `sent` gets the answers that no caller waits for. */
const connectionOf = (
  runner: Runner,
  texts: Set<string>,
  sent = (answer: Answer): unknown => answer,
): Pick<Connection, "statement"> => ({
  statement(text) {
    texts.add(text);
    const run = (parameters: readonly unknown[]) => runner.query(queryOf(text, parameters));
    return {
      all: async (parameters) => (await run(parameters)).rows,
      first: async (parameters) => (await run(parameters)).rows[0],
      run: async (parameters) => (await run(parameters)).rowCount ?? 0,
      send: async (parameters) => sent(run(parameters)),
    };
  },
});

/** Names an error of a pool in our words. */
const named = (runner: Runner, link: Link): Runner => ({
  query: (query) =>
    link.obstacle === "unreachable"
      ? Promise.reject(translate(new Error("Connection terminated")))
      : runner.query(query).catch((error) => {
          throw translate(error);
        }),
});

/** A connection of a read-only session says of a write what a read-only database says. */
const reading = (runner: Runner): Runner => ({
  query: (query) =>
    runner.query(query).catch((error) => {
      throw codeOf(error) === "25006" ? new Error("a write outside of a transaction") : error;
    }),
});

/** An engine, and what its process shares with others. */
export interface PostgresEngine {
  readonly engine: Engine;
  readonly shared: Shared;
}

/** What a connection holds of its transaction. */
interface Open {
  readonly messages: string[];
  readonly newest: string | undefined;
  /** The statements that nobody has waited for. */
  readonly sent: Promise<unknown>[];
  /** The first error: those of the statements after it only say that there was one. */
  failure?: unknown;
  /** Whether the present member of the group, and the earlier ones, may have written or locked a row. */
  hasWritten: boolean;
  haveWritten: boolean;
  readonly group: Connection["group"];
}

/** A connection of transactions, one after the other. */
function writingConnection(client: Client, texts: Set<string>) {
  let open: Open;
  const runner: Runner = {
    query(query) {
      // An answer may come after the end of its transaction.
      const own = open;
      if (typeof query === "object" && !isRead(query.text)) own.hasWritten = true;
      return client.query(query).catch((error) => {
        own.failure ??= error;
        throw own.failure;
      });
    },
  };
  const lockLimit: Connection["lockLimit"] = async (limit) => {
    if (!open.haveWritten) return void (await runner.query(`SELECT pg_advisory_xact_lock(${lockOf(limit)})`));
    // Rows that an earlier member locked must not be held while it waits: whoever has the lock may wait for them.
    const { rows } = await runner.query(`SELECT pg_try_advisory_xact_lock(${lockOf(limit)}) AS taken`);
    if (rows[0]?.["taken"] !== true) throw (open.failure = new Error("the lock of a limit is taken"));
  };
  const later = (answer: Answer) => void open.sent.push(answer.catch(() => {}));
  const connection: Connection = {
    ...connectionOf(runner, texts, later),
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
    begin(newest: string | undefined, organization_id: string | undefined): Open {
      const group = organization_id === undefined ? undefined : { organization_id };
      open = { messages: [], newest, sent: [], hasWritten: false, haveWritten: false, group };
      return open;
    },
  };
}

const isRead = (text: string) => text.startsWith("select") && !text.includes("for update");

/** Runs a member of a group. One that fails before it writes leaves the others as they are. */
async function runIn(open: Open, connection: Connection, work: Work, isAlone: boolean): Promise<Ended> {
  const told = open.messages.length;
  open.haveWritten ||= open.hasWritten;
  open.hasWritten = false;
  try {
    const value = await work(connection);
    if (open.failure) throw open.failure;
    return { value };
  } catch (error) {
    if (isAlone || open.failure || open.hasWritten) throw error;
    open.messages.length = told;
    return { error };
  }
}

/** READ COMMITTED transactions. Those of one organization run one after the other, in all processes, as all do on SQLite. */
export async function createPostgresEngine(driver: Driver, url: string, link: Link): Promise<PostgresEngine> {
  const texts = new Set<string>();
  const poolOf = (use: "reads" | "counters", max: number) =>
    createPool(driver, connectionConfig(url, `svc-server ${link.name}`, use), max);
  const pool = poolOf("reads", readers);
  const reads = connectionOf(named(reading(pool), link), texts);
  const counterPool = poolOf("counters", counting);
  const counters = connectionOf(named(counterPool, link), texts);
  const read = async (text: string) => ((await reads.statement(text).first([])) as { value: number }).value;
  const time = await followDatabaseTime(() => read("select extract(epoch from clock_timestamp()) * 1000 as value"));
  const signals = createSignals({ driver, url, own: link.name, failed: link.probe });
  let follow = (_: string) => {};
  const connections = new WeakMap<Client, ReturnType<typeof writingConnection>>();
  const connectionFor = (client: Client) => {
    const made = connections.get(client) ?? writingConnection(client, texts);
    connections.set(client, made);
    return made;
  };

  const run = async (scope: EngineScope, works: readonly Work[]): Promise<readonly Ended[]> => {
    if (link.obstacle) throw stopped(link.obstacle);
    const client = await link.take();
    const { begin, unlock } = lockingOf(scope, client.escapeLiteral.bind(client));
    try {
      const event = lastOf(await client.query(begin)).rows[0] as { id: string } | undefined;
      if (event) follow(event.id);
      const { connection, begin: open } = connectionFor(client);
      const transaction = open(event?.id, typeof scope === "object" ? scope.organization_id : undefined);
      const ended: Ended[] = [];
      for (const work of works) ended.push(await runIn(transaction, connection, work, works.length === 1));
      const { messages, sent } = transaction;
      // A message must not tell of what failed.
      if (messages.length > 0) await Promise.all(sent);
      if (transaction.failure) throw transaction.failure;
      const sending = sendingOf(messages, link.name, client.escapeLiteral.bind(client));
      const { command } = await commit(client, sending, unlock);
      // PostgreSQL answers COMMIT with ROLLBACK where a statement had failed.
      if (command !== "COMMIT") throw transaction.failure ?? new Error("the transaction was rolled back by its commit");
      link.give(client);
      return ended;
    } catch (error) {
      if (isLost(error)) link.drop(client);
      else
        await client.query(`ROLLBACK; ${unlock}`).then(
          () => link.give(client),
          () => link.drop(client),
        );
      throw error;
    }
  };

  const groups = createGroups(run);
  let closing: Promise<void> | undefined;

  const engine: Engine = {
    name: "postgres",
    db: queryBuilder,
    hasRowLocks: true,
    later: (instant, seconds) =>
      sql`to_char((${instant}::timestamptz + ${seconds}::double precision * interval '1 second') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
    connection: reads,
    transaction: groups.add,
    // Nobody tells whether another process has committed.
    others: () => Number.NaN,
    size: () => read("select pg_database_size(current_database()) as value"),
    logSize: () => 0,
    isDuplicate: (error) => codeOf(error) === "23505",
    preparedSql: () => [...texts],
    get obstacle() {
      return link.obstacle;
    },
    watch: link.watch,
    started: () => true,
    close() {
      time.stop();
      closing ??= groups
        .drain()
        .then(() => Promise.all([link.end(), pool.end(), counterPool.end(), signals.end()]))
        .then(() => {});
      return closing;
    },
  };
  const shared: Shared = {
    now: time.now,
    counters,
    onNewest(given) {
      follow = given;
    },
    listen: signals.listen,
  };
  return { engine, shared };
}

/** The result of the last of several statements. */
const lastOf = (results: QueryResult | readonly QueryResult[]): QueryResult =>
  Array.isArray(results) ? results.at(-1) : (results as QueryResult);
