import type { Client } from "pg";
import { systemTimer } from "../kernel/clock.ts";
import { applicationId } from "./migrate.ts";
import type { loadDriver } from "./postgres.ts";
import { connectionConfig } from "./postgres.ts";
import type { Watcher } from "./recovery.ts";
import type { Obstacle } from "./write-failure.ts";

export type Driver = Awaited<ReturnType<typeof loadDriver>>;

/** Advisory locks of the database: the first number says that they are ours. */
const locks = { transaction: 1, server: 2, copy: 3 } as const;
export const lockOf = (name: keyof typeof locks): string => `${applicationId}, ${locks[name]}`;

/** How long a start waits for the lock of a server that was killed just now: its connection may still be open. */
const patience = { tries: 50, pause_ms: 100 };
const backoff_ms = { first: 100, most: 5_000 };

export class OtherServer extends Error {
  constructor() {
    super("another server uses it; this version takes one server a database, so stop that one first");
  }
}

interface Ports {
  readonly driver: Driver;
  readonly url: string;
  /** Whether this process is the server of the database, and not a command beside one. */
  readonly isServer: boolean;
  /** Checks the server behind each new connection. Rejects where it cannot be used. */
  readonly check: (client: Client) => Promise<void>;
}

/**
 * The connection that writes. A server's holds a lock of the database as long as it lives, so there is one server: whatever
 * another one could do meanwhile comes after this connection has ended. A lost connection is opened again, with back-off.
 */
export interface Link {
  /** Why there is no connection. */
  readonly obstacle: Obstacle | undefined;
  /** The open connection. Rejects while there is none. */
  client(): Promise<Client>;
  /** Gives up a connection that has failed. */
  drop(client: Client, error: unknown): void;
  watch(watcher: Watcher): void;
  end(): Promise<void>;
}

export function createLink({ driver, url, isServer, check }: Ports): Link {
  let current: Client | undefined;
  let opening: Promise<Client> | undefined;
  let obstacle: Obstacle | undefined;
  let watcher: Watcher | undefined;
  let wait_ms = backoff_ms.first;
  let cancelTimer = () => {};
  let hasStarted = false;
  let hasEnded = false;
  /** The backend of the last connection. */
  let lastBackend: number | null = null;
  const name = `svc-server ${process.pid}`;

  const isFree = async (client: Client): Promise<boolean> => {
    const { rows } = await client.query(`select pg_try_advisory_lock(${lockOf("server")}) as free`);
    return Boolean(rows[0].free);
  };

  const takeLock = async (client: Client) => {
    // The server may still take our last connection for open.
    const ours = "select pg_terminate_backend(pid) from pg_stat_activity where pid = $1 and application_name = $2";
    if (lastBackend !== null) await client.query(ours, [lastBackend, name]);
    for (let tries = 0; !(await isFree(client)); tries++) {
      if (tries === patience.tries) throw new OtherServer();
      await new Promise<void>((resolve) => void systemTimer(patience.pause_ms, resolve, { hold: true }));
    }
  };

  const open = async (): Promise<Client> => {
    const client = new driver.Client(connectionConfig(url, name, false));
    // A lost connection that nobody uses is told here alone.
    client.on("error", (error) => drop(client, error));
    try {
      await client.connect();
      if (isServer) await takeLock(client);
      await check(client);
      const { rows } = await client.query("select pg_backend_pid() as pid");
      if (hasEnded) throw new Error("the store is closed");
      lastBackend = rows[0].pid as number;
    } catch (error) {
      void client.end().catch(() => {});
      throw error;
    }
    current = client;
    hasStarted = true;
    wait_ms = backoff_ms.first;
    if (obstacle) {
      obstacle = undefined;
      watcher?.writes(undefined);
    }
    return client;
  };

  const connect = (): Promise<Client> => {
    opening ??= open()
      .catch((error) => {
        if (hasStarted) stop(error);
        throw error;
      })
      .finally(() => {
        opening = undefined;
      });
    return opening;
  };

  const stop = (error: unknown) => {
    const found = error instanceof OtherServer ? "taken_over" : "unreachable";
    if (found !== obstacle) watcher?.writes(found, error);
    obstacle = found;
    if (hasEnded) return;
    cancelTimer();
    cancelTimer = systemTimer(wait_ms, () => void connect().catch(() => {}));
    wait_ms = Math.min(2 * wait_ms, backoff_ms.most);
  };

  const drop: Link["drop"] = (client) => {
    if (client !== current) return;
    current = undefined;
    void client.end().catch(() => {});
    if (!hasEnded) void connect().catch(() => {});
  };

  return {
    get obstacle() {
      return obstacle;
    },
    client: async () => current ?? connect(),
    drop,
    watch(given) {
      watcher = given;
    },
    async end() {
      hasEnded = true;
      cancelTimer();
      await opening?.catch(() => {});
      const client = current;
      current = undefined;
      await client?.end().catch(() => {});
    },
  };
}
