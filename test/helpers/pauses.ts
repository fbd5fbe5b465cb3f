import * as timers from "node:timers";
import type { Connection, Engine, Statement } from "../../lib/store/engine.ts";
import type { SqliteEngine } from "../../lib/store/sqlite/engine.ts";

// Imported before a test mocks timers.
const { setImmediate } = timers;

/** Numbers from 0 up to 1 (exclusive). The same seed gives the same sequence (mulberry32). */
function numbersOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const turn = () => new Promise<void>((resolve) => void setImmediate(resolve));
/** Waits for this many turns of the event loop. */
export async function turns(count: number): Promise<void> {
  for (let left = count; left > 0; left--) await turn();
}

/** Wraps a statement so that something runs before or after it. */
const around = (
  statement: Statement,
  { before = async () => {}, after = async () => {} }: { before?(): Promise<void>; after?(): Promise<void> },
): Statement => {
  const run = async <T>(work: () => Promise<T>): Promise<T> => {
    await before();
    return work().finally(after);
  };
  return {
    all: (parameters) => run(() => statement.all(parameters)),
    first: (parameters) => run(() => statement.first(parameters)),
    run: (parameters) => run(() => statement.run(parameters)),
    send: (parameters) => run(() => statement.send(parameters)),
  };
};

/**
 * After each statement of a transaction, pauses at random: not at all, for up to 4, or for up to 40 event loop turns.
 * During a pause other requests continue, answers arrive and timers fire. The database stays reserved for the
 * transaction.
 */
export const pauses = createPauses();

function createPauses() {
  const next = numbersOf(Number(process.env["TEST_INTERLEAVE"]));
  let open = 0;
  const pause = async () => {
    const draw = next();
    if (draw < 0.5) return;
    open += 1;
    await turns(Math.ceil(next() * (draw > 0.95 ? 40 : 4)));
    open -= 1;
  };
  const known = new WeakMap<Connection, Connection>();
  const connectionWith = (connection: Connection, steps: Parameters<typeof around>[1]): Connection =>
    Object.create(connection, {
      statement: {
        value: (...given: Parameters<Connection["statement"]>) => around(connection.statement(...given), steps),
      },
    });
  return {
    /** The connection of a transaction, with a pause after each statement. */
    within(connection: Connection): Connection {
      const made = known.get(connection) ?? connectionWith(connection, { after: pause });
      known.set(connection, made);
      return made;
    },
    /** The connection for reads outside transactions. On SQLite, reads wait until the open transaction ends. */
    outside(engine: Engine): Connection {
      if (engine.name === "postgres") return engine.connection;
      const { betweenTransactions } = engine as SqliteEngine;
      return connectionWith(engine.connection, { before: () => betweenTransactions(() => {}) });
    },
    /** Runs `check` once no transaction is paused. */
    guard: (check: () => void) =>
      void setImmediate(function again() {
        if (open > 0) setImmediate(again);
        else check();
      }),
  };
}
