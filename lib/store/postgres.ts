import { nextTick } from "node:process";
import type { Duplex } from "node:stream";
import { DefaultQueryExecutor, PostgresAdapter, PostgresQueryCompiler, QueryCreator } from "kysely";
import type { Client, ClientConfig, QueryResult } from "pg";
import type { QueryBuilder } from "./engine.ts";
import type { Tables } from "./tables.ts";

/** Kysely compiles SQL here. It has no connection to run it on. */
const executor = new DefaultQueryExecutor(new PostgresQueryCompiler(), new PostgresAdapter(), {
  provideConnection: () => Promise.reject(new Error("Kysely has no connection here; run prepared statements")),
});

export const queryBuilder: QueryBuilder = Object.assign(new QueryCreator<Tables>({ executor }), {
  getExecutor: () => executor,
});

interface Driver {
  readonly Client: new (config: SessionConfig) => Client;
}

async function loadPackage() {
  try {
    const loaded = await import("pg");
    return loaded.default;
  } catch (cause) {
    throw new Error('the package pg is not installed. Run "npm install pg".', { cause });
  }
}

/** The number of the process that serves a connection. */
const backendOf = async (client: Client): Promise<number> =>
  (await client.query("select pg_backend_pid() as pid")).rows[0].pid;

/** Whether a pooler may give the server of this connection to another one between transactions. */
async function isShared(client: Client, other: Client): Promise<boolean> {
  try {
    const first = await backendOf(client);
    await other.connect();
    await other.query("begin");
    return (await backendOf(other)) === first || (await backendOf(client)) !== first;
  } finally {
    void other.end().catch(() => {});
  }
}

/**
 * Loads the driver, which is no dependency of the package: few users need it. Its clients have a session of their own, with
 * our settings: a pooler would refuse them at the start of a connection, or forget them.
 */
export async function loadDriver(): Promise<Driver> {
  const { Client: Base } = await loadPackage();
  class SessionClient extends Base {
    readonly #config: SessionConfig;
    #corked: Duplex | undefined;
    constructor(config: SessionConfig) {
      super(config);
      this.#config = config;
      // The next statement reports it.
      this.on("error", () => {});
    }

    override connect(): Promise<Client> {
      return super.connect().then(() => this.#begin());
    }

    /** Statements of one tick leave together: `pg` itself writes each to the socket. */
    override query = ((...words: Parameters<Client["query"]>) => {
      const { stream } = (this as unknown as { connection: { stream: Duplex } }).connection;
      if (stream !== this.#corked) {
        this.#corked = stream;
        stream.cork();
        nextTick(() => {
          this.#corked = undefined;
          stream.uncork();
        });
      }
      return super.query(...words);
    }) as Client["query"];

    async #begin(): Promise<Client> {
      const { session, ...config } = this.#config;
      const values = Object.entries(session).map(([name, value]) => `set_config('${name}', '${value}', false)`);
      const identified = this as unknown as { processID: number };
      // A pooler invents the number of a backend, and would change the settings of other clients.
      const text = `select ${values} where pg_backend_pid() = ${identified.processID}`;
      const { rowCount } = await this.query({ text, query_timeout: limits.connect_ms } as { text: string });
      if (rowCount === 1) return this;
      const short = { ...config, query_timeout: limits.connect_ms };
      if (await isShared(this, new Base(short))) throw new Error(sharedServers);
      await this.query(`select ${values}`);
      identified.processID = await backendOf(this);
      return this;
    }
  }
  return { Client: SessionClient };
}

const sharedServers =
  "a connection pooler in transaction mode is in between; name the address of PostgreSQL itself, or set the pooler to session mode";

/** bigint, smallint, integer, oid, real, double precision and numeric. */
const numbers = [20, 21, 23, 26, 700, 701, 1700];
const boolean = 16;
/** The value of a type, by its number, from PostgreSQL's text. */
const parserOf = (type: number) => (text: string) =>
  numbers.includes(type) ? Number(text) : type === boolean ? text === "t" : text;

export const limits = {
  connect_ms: 5_000,
  /** The server ends a statement, and we no longer wait for its answer. */
  statement_ms: 20_000,
  answer_ms: 30_000,
  /** The server ends a transaction of a process that hangs. */
  idle_ms: 30_000,
};

/** The purpose of a connection. */
const settings = {
  transactions: {},
  // A write outside of a transaction is refused: each would be a commit of its own, and a change could stay half done.
  reads: { default_transaction_read_only: "on" },
  // No request waits for the disk of the database.
  counters: { synchronous_commit: "off" },
};

/** A connection, and the settings of its session. */
export interface SessionConfig extends ClientConfig {
  readonly session: Readonly<Record<string, string | number>>;
}

/** The settings of every connection. `PG*` variables fill what the URL leaves out. */
export const connectionConfig = (url: string, name: string, use: keyof typeof settings): SessionConfig => ({
  connectionString: url,
  application_name: name,
  connectionTimeoutMillis: limits.connect_ms,
  query_timeout: limits.answer_ms,
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
  client_encoding: "UTF8",
  session: {
    statement_timeout: limits.statement_ms,
    idle_in_transaction_session_timeout: limits.idle_ms,
    ...settings[use],
  },
  types: { getTypeParser: parserOf } as never,
});

/** The number of statements that a connection keeps prepared. Others are parsed at each run. */
const mostNamed = 512;
const names = new Map<string, string>();

/** A query of `pg`. Statements have the same names in all connections of the process. */
export function queryOf(text: string, values: readonly unknown[]) {
  let name = names.get(text);
  if (name === undefined && names.size < mostNamed) {
    name = `s${names.size}`;
    names.set(text, name);
  }
  return { name, text, values: values.some(isUnstorable) ? values.map(storable) : (values as unknown[]) };
}

/** PostgreSQL stores no U+0000. Callers cannot send one; receivers and programs can answer with it. */
export const storable = <T>(value: T) => (isUnstorable(value) ? (value as string).replaceAll("\0", "\ufffd") : value);
const isUnstorable = (value: unknown) => typeof value === "string" && value.includes("\0");

/** A connection of `pg`, or a pool of them. */
export interface Runner {
  query(query: string | ReturnType<typeof queryOf>): Promise<QueryResult<Record<string, unknown>>>;
}
