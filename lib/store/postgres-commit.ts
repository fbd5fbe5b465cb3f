import type { Client, QueryResult } from "pg";
import { isLost } from "./postgres-errors.ts";

const firstOf = (results: QueryResult | readonly QueryResult[]): QueryResult =>
  Array.isArray(results) ? results[0] : (results as QueryResult);

/**
 * Commits, then sends messages, then unlocks. NOTIFY locks the whole server until its transaction commits. So messages
 * use a transaction of their own, which does not wait for the disk. Both go out in one packet, so the process cannot
 * die in between. If the messages fail, the commit stands.
 */
export async function commit(client: Client, sending: string, unlock: string): Promise<Pick<QueryResult, "command">> {
  if (sending === "") return firstOf(await client.query(`COMMIT; ${unlock}`));
  let isCommitted = false;
  // Called for the column of `SELECT 1`, which runs only after a successful COMMIT.
  const getTypeParser = () => {
    isCommitted = true;
    return String;
  };
  try {
    return firstOf(await client.query({ text: `COMMIT; SELECT 1; ${sending}${unlock}`, types: { getTypeParser } }));
  } catch (error) {
    if (!isCommitted || isLost(error)) throw error;
    await client.query(`ROLLBACK; ${unlock}`);
    return { command: "COMMIT" };
  }
}
