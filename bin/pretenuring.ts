import { setFlagsFromString } from "node:v8";
import { systemTimer } from "../lib/kernel/clock.ts";

/**
 * Turns off a guess of V8. Requests that wait for a commit or for PostgreSQL outlive a collection of young objects, so
 * V8 soon makes their objects as old ones. These stay until a full collection, and what they refer to becomes old too.
 * Without the guess, full collections are rare. At 32 connections, the 99th percentile of POSTs on SQLite is 1.3 times
 * that of the limit instead of 2.6 (`npm run bench -- http`), and lists of 20 on PostgreSQL are 1.1 to 1.3 times as many
 * a second (`npm run bench -- postgres`).
 *
 * Node warns of flags that change after the start. V8 reads this one at each collection and each compilation, and both
 * of its values are right at any time. But once it changes, V8 refuses the cached code of Node's own modules, so the
 * first answer would come 10 ms later. (Worker threads, and the first use of a module in `kernel/lazy-node-modules`, take a
 * few ms longer.)
 */
export function stopPretenuring(): void {
  systemTimer("1s", () => setFlagsFromString("--no-allocation-site-pretenuring"));
}
