import type { Connection, Engine } from "./engine.ts";

/** A test hook: lets other code run between the statements of a transaction, on SQLite too. */
export interface Pauses {
  /** The connection of a transaction, with a pause after each statement. */
  within(connection: Connection): Connection;
  /** The connection for reads outside transactions. On SQLite, reads wait until the open transaction ends. */
  outside(engine: Engine): Connection;
  /** Whether a transaction is paused. */
  isOpen(): boolean;
}

/** Set only by tests (`TEST_INTERLEAVE`), before they create a store. */
export const pauses: { current?: Pauses | undefined } = {};
