import type { Client } from "pg";
import { systemTimer } from "../kernel/clock.ts";
import { createRandom } from "../kernel/random.ts";
import type { loadDriver } from "./postgres.ts";
import { connectionConfig } from "./postgres.ts";
import type { Watcher } from "./recovery.ts";
import type { Obstacle } from "./write-failure.ts";

export type Driver = Awaited<ReturnType<typeof loadDriver>>;

/** Connections that write at a time. */
const most = 8;
/** How long the answer to a probe may take. */
const probe_ms = 5_000;
const backoff_ms = { first: 100, most: 5_000 };

interface Ports {
  readonly driver: Driver;
  readonly url: string;
  /**
   * Checks the server behind each new connection. Rejects if it cannot be used. `isOnly` says that no other connection
   * is open, so the server may be another than before.
   */
  readonly check: (client: Client, isOnly: boolean) => Promise<void>;
}

/** The connections that write. Lost ones are opened again, with back-off. */
export interface Link {
  /** Of this process among all that use the database: process ids repeat on other machines. */
  readonly name: string;
  /** The reason why there is no connection. */
  readonly obstacle: Obstacle | undefined;
  /** A connection for one transaction. Rejects while none can be opened. */
  take(): Promise<Client>;
  give(client: Client): void;
  /** Gives up a connection that has failed. */
  drop(client: Client): void;
  /** Gives up unused connections that do not answer soon: a network may swallow everything and tell nobody. */
  probe(): void;
  watch(watcher: Watcher): void;
  end(): Promise<void>;
}

interface Waiting {
  resolve(client: Client): void;
  reject(error: unknown): void;
}

const backendOf = (client: Client) => (client as unknown as { processID: number }).processID;

export function createLink({ driver, url, check }: Ports): Link {
  const clients = new Set<Client>();
  const idle: Client[] = [];
  const waiting: Waiting[] = [];
  const opening = new Set<Promise<void>>();
  /** The backends of lost connections. */
  let lost: number[] = [];
  let obstacle: Obstacle | undefined;
  let watcher: Watcher | undefined;
  let wait_ms = backoff_ms.first;
  let cancelTimer = () => {};
  let hasStarted = false;
  let hasEnded = false;
  const name = createRandom().alphanumeric(12);
  const application = `svc-server ${name}`;

  /** The server may still treat a lost connection as open, and its transaction would hold its locks. */
  const endLost = async (client: Client) => {
    if (lost.length === 0) return;
    const ended = lost;
    lost = [];
    await client.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where pid = any($1) and pid <> all($2) and application_name = $3",
      [ended, [client, ...clients].map(backendOf), application],
    );
  };

  const connect = async (): Promise<Client> => {
    const client = new driver.Client({ ...connectionConfig(url, application, "transactions"), pipeline: true });
    // Only this reports the loss of an unused connection.
    client.on("error", () => drop(client));
    try {
      await client.connect();
      await endLost(client);
      await check(client, clients.size === 0);
      if (hasEnded) throw new Error("the store is closed");
      return client;
    } catch (error) {
      void client.end().catch(() => {});
      throw error;
    }
  };

  const open = () => {
    const opened: Promise<void> = connect()
      .finally(() => opening.delete(opened))
      .then(
        (client) => {
          clients.add(client);
          hasStarted = true;
          wait_ms = backoff_ms.first;
          const was = obstacle;
          obstacle = undefined;
          if (was) watcher?.writes(undefined);
          give(client);
        },
        (error) => {
          // The open connections serve all waiting statements.
          if (clients.size > 0 || opening.size > 0) return;
          for (const { reject } of waiting.splice(0)) reject(error);
          if (hasStarted) stop(error);
        },
      );
    opening.add(opened);
  };

  const stop = (error: unknown) => {
    const found = (error as { code?: unknown }).code === "25006" ? "database_read_only" : "unreachable";
    if (obstacle !== found) watcher?.writes(found, error);
    obstacle = found;
    if (hasEnded) return;
    cancelTimer();
    cancelTimer = systemTimer(wait_ms, open);
    wait_ms = Math.min(2 * wait_ms, backoff_ms.most);
  };

  const give: Link["give"] = (client) => {
    if (!clients.has(client)) return;
    const next = waiting.shift();
    if (next) next.resolve(client);
    else idle.push(client);
  };

  const drop: Link["drop"] = (client) => {
    if (!clients.delete(client)) return;
    if (idle.includes(client)) idle.splice(idle.indexOf(client), 1);
    lost.push(backendOf(client));
    void client.end().catch(() => {});
    if (!hasEnded && opening.size === 0 && (clients.size === 0 || waiting.length > 0)) open();
  };

  return {
    name,
    get obstacle() {
      return obstacle;
    },
    take() {
      // The connection that was used last: its statements are prepared.
      const client = idle.pop();
      if (client) return Promise.resolve(client);
      return new Promise((resolve, reject) => {
        waiting.push({ resolve, reject });
        if (opening.size < waiting.length && clients.size + opening.size < most) open();
      });
    },
    give,
    drop,
    probe() {
      const query = { text: "select 1", query_timeout: probe_ms } as { text: string };
      for (const client of idle) client.query(query).catch(() => drop(client));
    },
    watch(given) {
      watcher = given;
    },
    async end() {
      hasEnded = true;
      cancelTimer();
      await Promise.all(opening);
      const open = [...clients];
      clients.clear();
      await Promise.all(open.map((client) => client.end().catch(() => {})));
    },
  };
}
