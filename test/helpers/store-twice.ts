import type { Engine } from "../../lib/store/engine.ts";
import * as real from "../../lib/store/store.ts";

export { stateReplaced } from "../../lib/store/store.ts";

/** Replaces `lib/store/store.ts`: each transaction's body runs, is rolled back, and runs again. */
export function createStore(engine: Engine): real.Store {
  const transaction: Engine["transaction"] = (scope, work) =>
    engine.transaction(scope, async (connection) => {
      const control = (text: string) => connection.statement(text).run([]);
      await control("SAVEPOINT again");
      await work(connection);
      // What the first run has read is undone, too.
      connection.shared?.clear();
      await control("ROLLBACK TO again");
      await control("RELEASE again");
      return work(connection);
    });
  return real.createStore(Object.create(engine, { transaction: { value: transaction } }));
}
