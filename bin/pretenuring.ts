import { setFlagsFromString } from "node:v8";

/**
 * Turns off a guess of V8. Requests that wait for PostgreSQL outlive a collection of young objects, so V8 soon makes
 * the lists of rows as old objects. A dead old list keeps its rows until a full collection, and these rows become old
 * too. Without the guess, lists of 20 at 32 connections are 1.1 to 1.3 times as many a second, with a 99th percentile of
 * 9 ms instead of 20 (`npm run bench -- postgres`). On SQLite nothing waits, and a GET would take 1.04 times the time.
 *
 * Node warns of flags that change after the start. V8 reads this one at each collection and each compilation, and both
 * of its values are right at any time.
 */
export const stopPretenuring = (): void => setFlagsFromString("--no-allocation-site-pretenuring");
