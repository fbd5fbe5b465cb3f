import type { Engine } from "../../lib/store/engine.ts";
import * as real from "../../lib/store/store.ts";
import { pauses } from "./pauses.ts";

export { stateReplaced } from "../../lib/store/store.ts";

/** Replaces `lib/store/store.ts`: other code runs between the statements of a transaction, on SQLite too. */
export function createStore(engine: Engine): real.Store {
  const transaction: Engine["transaction"] = (scope, work, prefetch) =>
    engine.transaction(scope, (connection) => work(pauses.within(connection)), prefetch);
  const connection = pauses.outside(engine);
  return real.createStore(
    Object.create(engine, { transaction: { value: transaction }, connection: { value: connection } }),
  );
}
