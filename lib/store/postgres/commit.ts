import type { Client, QueryResult } from "pg";
import type { Driver } from "./driver.ts";
import { isLost } from "./errors.ts";

const firstOf = (results: QueryResult | readonly QueryResult[]): QueryResult =>
  Array.isArray(results) ? results[0] : (results as QueryResult);

/**
 * Commits, then sends messages, then unlocks. NOTIFY locks the whole server until its transaction commits. So messages
 * use a second transaction, which does not wait for the disk. Both are sent in one packet, so the process cannot die in
 * between. If the messages fail, the commit remains.
 *
 * After a failed statement, COMMIT rolls back without an error, and the messages would be sent. So a select precedes
 * it: then it fails, and the rest of the packet is skipped. So the packet need not wait for results of queued writes.
 */
export async function commit(
  { Query }: Pick<Driver, "Query">,
  client: Client,
  sending: string,
  unlock: string,
): Promise<Pick<QueryResult, "command">> {
  if (sending === "") return firstOf(await client.query(`COMMIT; ${unlock}`));
  let isCommitted = false;
  try {
    return await new Promise((resolve, reject) => {
      const query = new Query(`SELECT WHERE false; COMMIT; SELECT 1; ${sending}${unlock}`, (error, results) =>
        error ? reject(error) : resolve((results as unknown as readonly QueryResult[])[1] as QueryResult),
      );
      // The row of `SELECT 1`, which runs only after a successful COMMIT.
      query.on("row", () => {
        isCommitted = true;
      });
      client.query(query);
    });
  } catch (error) {
    if (!isCommitted || isLost(error)) throw error;
    await client.query(`ROLLBACK; ${unlock}`);
    return { command: "COMMIT" };
  }
}
