import { type Clock, systemTimer } from "../kernel/clock.ts";
import { isLogged } from "../kernel/errors.ts";
import { type Log, reasonOf } from "../kernel/log.ts";
import type { Runner } from "./runner.ts";

const pause = "1s";

interface Ports {
  readonly runner: Pick<Runner, "rescue">;
  readonly log: Log;
  readonly pump: () => void;
}

/** Once a second, takes back the jobs of ended processes, and claims jobs that other processes added. */
export function pollJobs({ runner, log, pump }: Ports): () => void {
  let hasEnded = false;
  const poll = async () => {
    await runner.rescue().catch((error) => {
      if (!isLogged(error)) log.error("expired leases could not be taken back", { reason: reasonOf(error) });
    });
    if (hasEnded) return;
    pump();
    cancel = systemTimer(pause, () => void poll());
  };
  let cancel = systemTimer(pause, () => void poll());
  return () => {
    hasEnded = true;
    cancel();
  };
}

/** Claims due jobs once no other transaction has them locked, because a claim skips locked rows. */
export async function claimAll(runner: Pick<Runner, "claim" | "next">, clock: Clock): ReturnType<Runner["claim"]> {
  for (;;) {
    const rows = await runner.claim();
    const next = rows.length > 0 ? undefined : await runner.next();
    if (next === undefined || next > clock.now()) return rows;
  }
}
