import type { Duplex } from "node:stream";
import { DefaultQueryExecutor, PostgresAdapter, PostgresQueryCompiler, QueryCreator } from "kysely";
import type { Client, ClientConfig, Query, QueryConfig, QueryResult } from "pg";
import type { QueryBuilder } from "../engine.ts";
import type { Tables } from "../tables.ts";

// Captured, because fake timers of tests replace it. An import of node:process would open stdin at every start.
const { nextTick } = process;

/** Kysely only compiles SQL here. It has no connection. */
const executor = new DefaultQueryExecutor(new PostgresQueryCompiler(), new PostgresAdapter(), {
  provideConnection: () => Promise.reject(new Error("Kysely has no connection here; run prepared statements")),
});

export const queryBuilder: QueryBuilder = Object.assign(new QueryCreator<Tables>({ executor }), {
  getExecutor: () => executor,
});

export interface Driver {
  readonly Client: new (config: SessionConfig) => Client;
  readonly Query: typeof Query;
}

async function loadPackage() {
  try {
    const loaded = await import("pg");
    return loaded.default;
  } catch (cause) {
    throw new Error('the package pg is not installed. Run "npm install pg".', { cause });
  }
}

/** The process id of the backend of a connection. */
const backendOf = async (client: Client): Promise<number> =>
  (await client.query("select pg_backend_pid() as pid")).rows[0].pid;

/** Whether a pooler may move this connection to another backend between transactions. */
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
 * Loads `pg`, which is not a dependency of the package: few users need it. Its clients send our session settings after
 * connecting, because a pooler would refuse or forget settings sent while connecting. Connecting fails if a pooler
 * shares backends between clients.
 */
export async function loadDriver(): Promise<Driver> {
  const { Client: Base, Query } = await loadPackage();
  class SessionClient extends Base {
    readonly #config: SessionConfig;
    #corked: Duplex | undefined;
    constructor(config: SessionConfig) {
      super(config);
      this.#config = config;
      // The next statement reports the error.
      this.on("error", () => {});
    }

    override connect(): Promise<Client> {
      return super.connect().then(() => this.#begin());
    }

    /** Sends all statements of one tick in one write. `pg` alone writes each to the socket. */
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
      // Behind a pooler, `processID` is invented: then set nothing, since the settings could change for other clients.
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
  return { Client: SessionClient, Query };
}

const sharedServers =
  "a connection pooler in transaction mode is in between; name the address of PostgreSQL itself, or set the pooler to session mode";

/** The type ids of bigint, smallint, integer, oid, real, double precision and numeric. */
const numbers = [20, 21, 23, 26, 700, 701, 1700];
const boolean = 16;
/** Parses PostgreSQL's text for a type id. */
const parserOf = (type: number) => (text: string) =>
  numbers.includes(type) ? Number(text) : type === boolean ? text === "t" : text;

export const limits = {
  connect_ms: 5_000,
  /** The server cancels a statement after `statement_ms`; this process stops waiting after `answer_ms`. */
  statement_ms: 20_000,
  answer_ms: 30_000,
  /** The server ends a transaction that is idle for this long, because its process hangs. */
  idle_ms: 30_000,
};

/** Session settings by the purpose of a connection. */
const settings = {
  transactions: {},
  // Refuses writes outside a transaction: each would commit by itself, and a change could stay half done.
  reads: { default_transaction_read_only: "on" },
  // No request waits for the database's disk.
  counters: { synchronous_commit: "off" },
};

export interface SessionConfig extends ClientConfig {
  readonly session: Readonly<Record<string, string | number>>;
}

/** Options of every connection. `PG*` variables fill in what the URL omits. */
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

/** How many statements a connection keeps prepared. Others are parsed at each run. */
const maxNamed = 512;

export type Statements = ReturnType<typeof createStatements>;

/** The statements of an engine. The first `maxNamed` have names, which are the same on all connections. */
export function createStatements() {
  const names = new Map<string, string | undefined>();
  return {
    query(text: string, values: readonly unknown[]): QueryConfig {
      if (!names.has(text)) names.set(text, names.size < maxNamed ? `s${names.size}` : undefined);
      return { name: names.get(text), text, values: values.map(storable) };
    },
    texts: () => [...names.keys()],
  };
}

/** PostgreSQL cannot store U+0000. Responses of receivers and output of programs may contain it. */
export const storable = <T>(value: T) => (typeof value === "string" ? value.replaceAll("\0", "\ufffd") : value);

/** A connection of `pg`, or a pool of them. */
export interface Runner {
  query(query: QueryConfig): Promise<QueryResult<Record<string, unknown>>>;
}
