import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { systemTimer } from "../../lib/kernel/clock.ts";
import { temporaryFolder } from "../helpers/program.ts";
import { start } from "../helpers/webhook-receiver.ts";

/** Receivers that accept every delivery after a delay of up to `longest_ms`; most delays are short. */
export async function slowReceivers(t: TestContext, longest_ms = 3_000) {
  /** The number of tries of each delivery, in the order of first tries. */
  const tries = new Map<string, number>();
  let heard = () => {};
  const receiver = await start(({ headers }, response) => {
    const id = String(headers["x-service-delivery"]);
    tries.set(id, (tries.get(id) ?? 0) + 1);
    heard();
    const share = ((tries.size * 7_919) % 1_000) / 1_000;
    systemTimer(share ** 2 * longest_ms, () => response.end());
  });
  t.after(receiver.close);
  const authority = join(temporaryFolder(t), "authority.pem");
  writeFileSync(authority, receiver.certificate.cert);
  return {
    url: (name: string | number) => `https://localhost:${receiver.port}/${name}`,
    tries,
    /** The deliveries that arrived more than once. */
    doubled: () => [...tries].filter(([, count]) => count > 1).map(([id]) => id),
    /** Resolves once `count` deliveries have arrived. */
    async until(count: number) {
      while (tries.size < count)
        await new Promise<void>((resolve) => {
          heard = resolve;
        });
    },
    /** Environment variables for the servers. */
    variables: { SVC_OUTBOUND_ALLOW: "127.0.0.0/8", NODE_EXTRA_CA_CERTS: authority },
  };
}

/** Pauses a process for `ms`, like a paused virtual machine or a debugger. */
export async function stopFor(pid: number, ms: number): Promise<void> {
  process.kill(pid, "SIGSTOP");
  await new Promise<void>((resolve) => void systemTimer(ms, resolve, { hold: true }));
  process.kill(pid, "SIGCONT");
}
