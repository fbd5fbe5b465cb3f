import { sql } from "kysely";
import type { Client, QueryResult } from "pg";
import { codeOf } from "../database-error.ts";
import type { Cluster, Engine, EngineScope } from "../engine.ts";
import { stopped } from "../write-failure.ts";
import { commit } from "./commit.ts";
import { followDatabaseTime } from "./database-time.ts";
import { connectionConfig, createStatements, type Driver, queryBuilder, type Runner } from "./driver.ts";
import { isEnded, isLost, translate } from "./errors.ts";
import { createGroups, type Ended, type Work } from "./group-commit.ts";
import { lockingOf } from "./locks.ts";
import { createPool } from "./pool.ts";
import { createSignals, sendingOf } from "./signals.ts";
import { connectionOf, runIn, writingConnection } from "./transaction.ts";
import type { Link } from "./write-connections.ts";

/** Connections for reads outside transactions. */
const readers = 4;
/** Connections for counters. */
const counting = 1;
/** Translates the errors of a pool. Fails fast while the database is unreachable. */
const named = (runner: Runner, link: Link): Runner => ({
  query: (query) =>
    link.obstacle === "unreachable"
      ? Promise.reject(translate(new Error("Connection terminated")))
      : runner.query(query).catch((error) => {
          throw translate(error);
        }),
});

/**
 * Repeats a read if its connection has ended, since it changed nothing. Each connection of the pool may have ended.
 * A read-only replica raises 25006 too; on these connections it means a write outside a transaction.
 */
const reading = (runner: Runner): Runner => {
  const send = (query: Parameters<Runner["query"]>[0], tries: number): ReturnType<Runner["query"]> =>
    runner.query(query).catch((error) => {
      if (isEnded(error) && tries < readers) return send(query, tries + 1);
      throw codeOf(error) === "25006" ? new Error("a write outside of a transaction") : error;
    });
  return { query: (query) => send(query, 0) };
};

/** READ COMMITTED. As on SQLite, transactions of one organization run one by one, across all processes. */
export async function createPostgresEngine(driver: Driver, url: string, link: Link) {
  const statements = createStatements();
  const poolOf = (use: "reads" | "counters", max: number) =>
    createPool(driver, connectionConfig(url, `svc-server ${link.name}`, use), max);
  const pool = poolOf("reads", readers);
  const reads = connectionOf(named(reading(pool), link), statements);
  const counterPool = poolOf("counters", counting);
  const counters = connectionOf(named(counterPool, link), statements);
  const read = async (text: string) => ((await reads.statement(text).first([])) as { value: number }).value;
  const time = await followDatabaseTime(() => read("select extract(epoch from clock_timestamp()) * 1000 as value"));
  const signals = createSignals({ driver, url, own: link.name, failed: link.probe });
  let follow = (_: string) => {};
  const connections = new WeakMap<Client, ReturnType<typeof writingConnection>>();
  const connectionFor = (client: Client) => {
    const made = connections.get(client) ?? writingConnection(client, statements);
    connections.set(client, made);
    return made;
  };

  const run = async (scope: EngineScope, works: readonly Work[]): Promise<readonly Ended[]> => {
    if (link.obstacle) throw stopped(link.obstacle);
    const client = await link.take();
    const { begin, unlock } = lockingOf(scope, client.escapeLiteral.bind(client));
    const { connection, flush, begin: open } = connectionFor(client);
    const transaction = open(typeof scope === "object");
    try {
      const locked = client.query(begin);
      const ofGroup = transaction.shared ? works : [];
      const prefetched = ofGroup.map(({ prefetch }) => prefetch?.(connection));
      const [begun] = await Promise.all([locked, ...prefetched]);
      if (transaction.failure) throw transaction.failure;
      const event = lastOf(begun).rows[0] as { id: string } | undefined;
      transaction.newest = event?.id;
      if (event) follow(event.id);
      const ended: Ended[] = [];
      for (const work of works) ended.push(await runIn(transaction, connection, work, works.length === 1));
      flush();
      const { messages } = transaction;
      if (transaction.failure) throw transaction.failure;
      const sending = sendingOf(messages, link.name, client.escapeLiteral.bind(client));
      const { command } = await commit(driver, client, sending, unlock).catch((error) => {
        throw transaction.failure ?? error;
      });
      // PostgreSQL answers COMMIT with ROLLBACK after a failed statement.
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
    // PostgreSQL does not show whether another process has committed.
    foreignCommitVersion: () => Number.NaN,
    size: () => read("select pg_database_size(current_database()) as value"),
    logSize: () => 0,
    isBusy: () => pool.isBusy() || counterPool.isBusy() || groups.isBusy(),
    isDuplicate: (error) => codeOf(error) === "23505",
    preparedSql: statements.texts,
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
  const cluster: Cluster = {
    now: time.now,
    counters,
    onNewest(given) {
      follow = given;
    },
    listen: signals.listen,
  };
  return { engine, cluster };
}

const lastOf = (results: QueryResult | readonly QueryResult[]): QueryResult =>
  Array.isArray(results) ? results.at(-1) : (results as QueryResult);
