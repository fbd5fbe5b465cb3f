import type { Client, QueryResult } from "pg";
import { isLost } from "./postgres-errors.ts";

const firstOf = (results: QueryResult | readonly QueryResult[]): QueryResult =>
  Array.isArray(results) ? results[0] : (results as QueryResult);

/**
 * Commits, sends the messages and unlocks. NOTIFY locks the whole server until its commit. So messages have a transaction of
 * their own, which waits for no disk. It leaves in the same packet, so the process cannot die between the two. Messages that
 * fail undo nothing: the transaction is committed by then.
 */
export async function commit(client: Client, sending: string, unlock: string): Promise<Pick<QueryResult, "command">> {
  if (sending === "") return firstOf(await client.query(`COMMIT; ${unlock}`));
  let isCommitted = false;
  // The name of a column of a SELECT that runs only after a successful COMMIT.
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
