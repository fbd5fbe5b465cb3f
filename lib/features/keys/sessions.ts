import { isoOf } from "../../kernel/clock.ts";
import { milliseconds } from "../../kernel/text/duration.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Row } from "../../store/tables.ts";
import type { Core } from "../core.ts";
import { hashOf, type Identity, rightsWatch } from "./identities.ts";
import { keysRepository } from "./repository.ts";
import type { KeysService } from "./service.ts";

export const sessionLength = "30d";

interface Ports extends Pick<Core, "store" | "feed" | "clock" | "random"> {
  readonly keys: Pick<KeysService, "identify">;
}

export type Sessions = ReturnType<typeof createSessions>;

/**
 * Sessions of the dashboard. The browser stores a random token instead of the key. Every request reads the user and the
 * key again, so a session ends at once with either of them. A session from OpenID Connect has no key, and every scope.
 */
export function createSessions({ store, feed, clock, random, keys }: Ports) {
  const rows = store.using(keysRepository);

  /** The caller of a session; undefined if it has ended for any reason. Does not count as a use of the key. */
  const identify = async (token: string, tx?: Tx): Promise<Identity | undefined> => {
    const isUnchanged = rightsWatch({ feed, store });
    const row = await rows(tx).identifySession({ hash: hashOf(token) });
    if (row?.status !== "active" || row.api_key_id !== row.key_id) return undefined;
    const { organization_id, user_id, role, key_id, key_expires_at } = row;
    const expires_at = key_expires_at !== null && key_expires_at < row.expires_at ? key_expires_at : row.expires_at;
    const hasExpired = () => expires_at <= clock.iso();
    if (hasExpired()) return undefined;
    const scopes = row.scopes === null ? ["*"] : (JSON.parse(row.scopes) as string[]);
    return {
      caller: { organization_id, user_id, role, key_id: key_id ?? "", scopes },
      windows: [],
      expires_at,
      isCurrent: () => isUnchanged() && !hasExpired(),
    };
  };

  const insert = async (tx: Tx, owner: Pick<Row<"sessions">, "organization_id" | "user_id" | "api_key_id">) => {
    // 43 characters from an alphabet of 62 hold more than 256 bits.
    const token = random.alphanumeric(43);
    const [created_at, expires_at] = [clock.iso(), isoOf(clock.now() + milliseconds(sessionLength))];
    await rows(tx).insertSession({ hash: hashOf(token), ...owner, created_at, expires_at });
    return token;
  };

  return {
    /** Starts a session for a key; undefined if the key is invalid. */
    async begin(key: string): Promise<string | undefined> {
      const owner = (await keys.identify(key))?.caller;
      if (!owner) return undefined;
      return store.transaction({ organization_id: owner.organization_id }, async (tx) => {
        // Read again, because the key may have been revoked.
        const identity = await keys.identify(key, tx);
        if (!identity) return undefined;
        const { organization_id, user_id, key_id: api_key_id } = identity.caller;
        return insert(tx, { organization_id, user_id, api_key_id });
      });
    },

    /** Starts a session without a key for the user that `find` returns in the transaction. */
    beginFor: (organization_id: string, find: (tx: Tx) => Promise<string>): Promise<string> =>
      store.transaction({ organization_id }, async (tx) =>
        insert(tx, { organization_id, user_id: await find(tx), api_key_id: null }),
      ),

    /** Marks a sign-in as used until `expires_at`, for all servers. Returns whether this was its first use. */
    async use(state: string, expires_at: string): Promise<boolean> {
      try {
        await store.transaction("rows", (tx) => rows(tx).insertUsed({ hash: hashOf(state), expires_at }));
        return true;
      } catch (error) {
        if (store.engine.isDuplicate(error)) return false;
        throw error;
      }
    },

    identify,

    async end(token: string): Promise<void> {
      const session = await identify(token);
      await store.transaction(session?.caller ?? "rows", async (tx) => {
        await rows(tx).removeSession({ hash: hashOf(token) });
        // Closes the live connections of the session.
        if (!session) return;
        const { organization_id, user_id } = session.caller;
        feed.publish(tx, { kind: "rights", organization_id, user_id });
      });
    },

    prune: async () => {
      await store.transaction("rows", async (tx) => {
        await rows(tx).pruneSessions({ before: clock.iso() });
        await rows(tx).pruneUsed({ before: clock.iso() });
      });
    },
  };
}
