import type { Connection, Engine } from "./engine.ts";

/** Lets other work of the process go on between two statements of a transaction, on SQLite too. */
export interface Pauses {
  /** The connection of a transaction, with a pause after each statement. */
  within(connection: Connection): Connection;
  /** The connection for reads outside of transactions: on SQLite they wait for the end of the open transaction. */
  outside(engine: Engine): Connection;
  /** Whether a transaction pauses now. */
  isOpen(): boolean;
}

/** Set by tests alone (`TEST_INTERLEAVE`), before they make a store. */
export const pauses: { current?: Pauses | undefined } = {};
