import type { Client } from "pg";
import { systemTimer } from "../kernel/clock.ts";
import { createRandom } from "../kernel/random.ts";
import { applicationId } from "./migrate.ts";
import type { loadDriver } from "./postgres.ts";
import { connectionConfig } from "./postgres.ts";
import type { Watcher } from "./recovery.ts";
import type { Obstacle } from "./write-failure.ts";

export type Driver = Awaited<ReturnType<typeof loadDriver>>;

/** Advisory locks of the database: the first number says that they are ours. */
const locks = { transaction: 1, copy: 2 } as const;
export const lockOf = (name: keyof typeof locks): string => `${applicationId}, ${locks[name]}`;

const backoff_ms = { first: 100, most: 5_000 };

interface Ports {
  readonly driver: Driver;
  readonly url: string;
  /** Checks the server behind each new connection. Rejects where it cannot be used. */
  readonly check: (client: Client) => Promise<void>;
}

/** The connection that writes. A lost one is opened again, with back-off. */
export interface Link {
  /** Of this process among all that use the database: process ids repeat on other machines. */
  readonly name: string;
  /** Why there is no connection. */
  readonly obstacle: Obstacle | undefined;
  /** The open connection. Rejects while there is none. */
  client(): Promise<Client>;
  /** Gives up a connection that has failed. */
  drop(client: Client, error: unknown): void;
  watch(watcher: Watcher): void;
  end(): Promise<void>;
}

export function createLink({ driver, url, check }: Ports): Link {
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
  const name = createRandom().alphanumeric(12);
  const application = `svc-server ${name}`;

  /** The server may take our last connection for open still, and its transaction would hold the lock of all processes. */
  const endLast = async (client: Client) => {
    const ours = "select pg_terminate_backend(pid) from pg_stat_activity where pid = $1 and application_name = $2";
    if (lastBackend !== null) await client.query(ours, [lastBackend, application]);
  };

  const open = async (): Promise<Client> => {
    const client = new driver.Client(connectionConfig(url, application, "transactions"));
    // A lost connection that nobody uses is told here alone.
    client.on("error", (error) => drop(client, error));
    try {
      await client.connect();
      await endLast(client);
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
    if (!obstacle) watcher?.writes("unreachable", error);
    obstacle = "unreachable";
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
    name,
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
