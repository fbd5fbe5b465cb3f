import type { Client } from "pg";
import { systemTimer } from "../../kernel/clock.ts";
import { createRandom } from "../../kernel/random.ts";
import { codeOf } from "../database-error.ts";
import type { Obstacle, Watcher } from "../write-failure.ts";
import { connectionConfig, type Driver } from "./driver.ts";
import { isEnded } from "./errors.ts";

/** The most connections for writing. */
const maxConnections = 8;
const probe_ms = 5_000;
const backoff_ms = { first: 100, max: 5_000 };
/** How often in a row a connection is reopened at once, if an administrator ended it while it was opening. */
const maxReopened = 4;

interface Ports {
  readonly driver: Driver;
  readonly url: string;
  /** Rejects if the server of a new connection is unfit. `isOnly`: no other is open, so the server may have changed. */
  readonly check: (client: Client, isOnly: boolean) => Promise<void>;
}

export type Link = ReturnType<typeof createLink>;

interface Waiting {
  resolve(client: Client): void;
  reject(error: unknown): void;
}

const backendOf = (client: Client) => (client as unknown as { processID: number }).processID;

/** The connections for writing. Lost ones are reopened with back-off. */
export function createLink({ driver, url, check }: Ports) {
  const clients = new Set<Client>();
  const idle: Client[] = [];
  const waiting: Waiting[] = [];
  const opening = new Set<Promise<void>>();
  /** The backend process ids of lost connections. */
  let lost: number[] = [];
  let obstacle: Obstacle | undefined;
  let watcher: Watcher | undefined;
  let wait_ms = backoff_ms.first;
  let reopened = 0;
  let cancelTimer = () => {};
  let hasStarted = false;
  let hasEnded = false;
  const name = createRandom().alphanumeric(12);
  const application = `svc-server ${name}`;

  /** Terminates the backends of lost connections: the server may not notice, and their transactions hold locks. */
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
    // Only this event reports that an idle connection was lost.
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
          reopened = 0;
          const was = obstacle;
          obstacle = undefined;
          if (was) watcher?.writes(undefined);
          give(client);
        },
        (error) => {
          // The other connections serve the waiting transactions.
          if (clients.size > 0 || opening.size > 0) return;
          // The database can be reached, and an obstacle would refuse reads too.
          if (isEnded(error) && !hasEnded && reopened < maxReopened) {
            reopened += 1;
            return open();
          }
          for (const { reject } of waiting.splice(0)) reject(error);
          if (hasStarted) stop(error);
        },
      );
    opening.add(opened);
  };

  const stop = (error: unknown) => {
    const found = codeOf(error) === "25006" ? "database_read_only" : "unreachable";
    if (obstacle !== found) watcher?.writes(found, error);
    obstacle = found;
    if (hasEnded) return;
    cancelTimer();
    cancelTimer = systemTimer(wait_ms, open);
    wait_ms = Math.min(2 * wait_ms, backoff_ms.max);
  };

  const give = (client: Client): void => {
    if (!clients.has(client)) return;
    const next = waiting.shift();
    if (next) next.resolve(client);
    else idle.push(client);
  };

  /** Closes a failed connection. */
  const drop = (client: Client): void => {
    if (!clients.delete(client)) return;
    if (idle.includes(client)) idle.splice(idle.indexOf(client), 1);
    lost.push(backendOf(client));
    void client.end().catch(() => {});
    if (!hasEnded && opening.size === 0 && (clients.size === 0 || waiting.length > 0)) open();
  };

  return {
    /** Identifies this process among all that use the database. Process ids are not unique across machines. */
    name,
    /** Why there is no connection; undefined if there is one. */
    get obstacle(): Obstacle | undefined {
      return obstacle;
    },
    /** Takes a connection for one transaction. Rejects while none can be opened. */
    take(): Promise<Client> {
      // Prefer the connection used last: its statements are prepared.
      const client = idle.pop();
      if (client) return Promise.resolve(client);
      return new Promise((resolve, reject) => {
        waiting.push({ resolve, reject });
        if (opening.size < waiting.length && clients.size + opening.size < maxConnections) open();
      });
    },
    give,
    drop,
    /** Drops idle connections that do not answer in time. A broken network may raise no error. */
    probe(): void {
      const query = { text: "select 1", query_timeout: probe_ms } as { text: string };
      for (const client of idle) client.query(query).catch(() => drop(client));
    },
    watch(given: Watcher): void {
      watcher = given;
    },
    async end(): Promise<void> {
      hasEnded = true;
      cancelTimer();
      await Promise.all(opening);
      const open = [...clients];
      clients.clear();
      await Promise.all(open.map((client) => client.end().catch(() => {})));
    },
  };
}
