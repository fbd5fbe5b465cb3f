import assert from "node:assert/strict";
import { once } from "node:events";
import { renameSync } from "node:fs";
import { createConnection, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { OpenDatabase } from "../../lib/store/engine.ts";
import { openPostgres } from "../../lib/store/postgres/open.ts";
import { openFile, openMemory } from "../../lib/store/sqlite/database-files.ts";
import { emptyDatabase } from "../postgres/databases.ts";
import { isPostgres } from "./engine.ts";
import { freePort } from "./free-port.ts";
import { folderOf } from "./temporary-store.ts";

export type Kind = "memory" | "file" | "postgres";

/** An open, new database of one engine. */
export interface TestDatabase {
  readonly opened: OpenDatabase;
  /** Opens it a second time, as another process would. Undefined in memory. */
  readonly another?: () => Promise<OpenDatabase>;
  /** Makes it unreachable; returns a function that restores it. Undefined in memory. */
  readonly takeAway?: () => Promise<() => Promise<unknown>>;
  /** The path of a database file. */
  readonly path?: string;
}

const closing = <T extends OpenDatabase>(t: TestContext, opened: T): T => {
  t.after(async () => {
    await opened.engine.close();
    opened.release();
  });
  return opened;
};

async function inMemory(t: TestContext): Promise<TestDatabase> {
  return { opened: closing(t, openMemory()) };
}

async function inFile(t: TestContext): Promise<TestDatabase> {
  const path = join(folderOf(t), "svc.db");
  const open = (exclusive: boolean) => closing(t, openFile(path, { mayCreate() {}, exclusive }));
  const opened = open(true);
  // The table contains this process's number.
  opened.database.exec("delete from settings");
  return {
    opened,
    another: async () => open(false),
    async takeAway() {
      renameSync(path, `${path}.away`);
      return async () => renameSync(`${path}.away`, path);
    },
    path,
  };
}

/** A proxy that can refuse new connections and close open ones. */
export async function proxyTo(t: TestContext, target: number) {
  const sockets = new Set<Socket>();
  const listen = async (port: number): Promise<Server> => {
    const proxy = createServer((socket) => {
      const through = createConnection(target, "127.0.0.1");
      for (const one of [socket, through]) {
        sockets.add(one);
        one.on("error", () => {});
        one.on("close", () => sockets.delete(one));
      }
      socket.pipe(through).pipe(socket);
    });
    await once(proxy.listen(port, "127.0.0.1"), "listening");
    return proxy;
  };
  let proxy = await listen(await freePort());
  const address = proxy.address();
  assert.ok(address && typeof address === "object");
  const { port } = address;
  const close = async () => {
    proxy.close();
    for (const socket of sockets) socket.destroy();
    await Promise.all([...sockets].map((socket) => once(socket, "close")));
  };
  t.after(close);
  return {
    port,
    close,
    async open() {
      proxy = await listen(port);
    },
  };
}

async function onPostgres(t: TestContext): Promise<TestDatabase> {
  const { url } = await emptyDatabase(t);
  const proxy = await proxyTo(t, Number(new URL(url).port));
  const through = Object.assign(new URL(url), { port: String(proxy.port) }).href;
  return {
    opened: closing(t, await openPostgres(through, { isServer: true })),
    another: async () => closing(t, await openPostgres(url, { isServer: true })),
    async takeAway() {
      await proxy.close();
      return proxy.open;
    },
  };
}

/** All engines in this test run. */
export const engines: readonly { readonly kind: Kind; readonly open: (t: TestContext) => Promise<TestDatabase> }[] = [
  { kind: "memory", open: inMemory },
  { kind: "file", open: inFile },
  ...(isPostgres ? [{ kind: "postgres", open: onPostgres } as const] : []),
];

/** A new database: of PostgreSQL if the tests run on it, otherwise in memory. */
export const newDatabase = async (t: TestContext): Promise<OpenDatabase> =>
  (await (isPostgres ? onPostgres : inMemory)(t)).opened;
