import type { Client } from "pg";
import { systemTimer } from "../../kernel/clock.ts";
import { lockOf } from "./locks.ts";

/** How long a copy waits for a killed server's lock, since its connection may still be open. */
const wait = { tries: 50, pause_ms: 100 };

/** Takes the lock that servers and commands share while connected. A copy takes it exclusively. */
export async function shareCopyLock(client: Client): Promise<void> {
  const { rows } = await client.query(`select pg_try_advisory_lock_shared(${lockOf("copy")}) as free`);
  if (!rows[0].free) throw new Error("svc-server copy works on it; wait until it has ended");
}

export async function takeCopyLock(client: Client): Promise<void> {
  for (let tries = 0; tries < wait.tries; tries++) {
    const { rows } = await client.query(`select pg_try_advisory_lock(${lockOf("copy")}) as free`);
    if (rows[0].free) return;
    await new Promise<void>((resolve) => void systemTimer(wait.pause_ms, resolve, { hold: true }));
  }
  throw new Error("a server or another copy uses it; stop that one first");
}
