import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Store } from "../../store/store.ts";
import type { Row } from "../../store/tables.ts";
import type { ChangeFeed } from "../events/change-feed.ts";
import { keysRepository } from "./repository.ts";

export interface RemovalPorts {
  readonly store: Store;
  readonly feed: ChangeFeed;
  /** Ends everything else that was created with the revoked keys. */
  readonly onEnded: (tx: Tx, organization_id: string, key_ids: ReadonlySet<string>) => Promise<void>;
}

type Key = Pick<Row<"api_keys">, "organization_id" | "user_id" | "id">;

/**
 * Revokes keys. Running requests check their key again before they write; streams and waiting requests are notified.
 */
export function createKeyRemoval({ store, feed, onEnded }: RemovalPorts) {
  const keys = store.using(keysRepository);
  return {
    /** Removes a key. The keys that it created stay. */
    async remove(tx: Tx, { organization_id, user_id, id }: Key) {
      await keys(tx).leaveToMaker({ organization_id, id });
      await keys(tx).remove({ organization_id, id });
      feed.publish(tx, { kind: "rights", organization_id, user_id });
    },

    /** Removes a key and everything created with it. All keys created with it belong to the same user. */
    async removeWithMade(tx: Tx, { organization_id, user_id, id }: Key) {
      const ended = await keys(tx).removeWithMade({ organization_id, id });
      feed.publish(tx, { kind: "rights", organization_id, user_id });
      await onEnded(tx, organization_id, new Set(ended.map((one) => one.id)));
    },

    /** Ends the sign-ins of a user to the dashboard for good. */
    async endSignIns(tx: Tx, organization_id: string, user_id: string) {
      await keys(tx).removeSessionsOf({ organization_id, user_id });
    },

    /** Removes all keys of a user. */
    async removeOf(tx: Tx, organization_id: string, user_id: string) {
      await keys(tx).removeOf({ organization_id, user_id });
      feed.publish(tx, { kind: "rights", organization_id, user_id });
    },
  };
}
