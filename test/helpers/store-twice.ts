import type { Engine } from "../../lib/store/engine.ts";
import * as real from "../../lib/store/store.ts";

export { stateReplaced } from "../../lib/store/store.ts";

/** In place of `lib/store/store.ts`: the body of each transaction runs, is rolled back, and runs again. */
export function createStore(engine: Engine): real.Store {
  const transaction: Engine["transaction"] = (scope, work) =>
    engine.transaction(scope, async (connection) => {
      const control = (text: string) => connection.statement(text).run([]);
      await control("SAVEPOINT again");
      // What a group has done is remembered for it, and a real rollback begins another group.
      await work(Object.create(connection, { group: { value: {} } }));
      await control("ROLLBACK TO again");
      await control("RELEASE again");
      return work(connection);
    });
  return real.createStore(Object.create(engine, { transaction: { value: transaction } }));
}
