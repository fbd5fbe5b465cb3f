import type * as v from "valibot";
import { parseInstant } from "../../kernel/clock.ts";
import { notFound, orNotFound, Problem } from "../../kernel/errors.ts";
import { maxKeys } from "../../kernel/limits.ts";
import type { Caller } from "../../kernel/operation.ts";
import { mapLong, type PageQuery, paginateLong } from "../../kernel/page.ts";
import { rolesFor } from "../../kernel/roles.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Row } from "../../store/tables.ts";
import type { Core } from "../core.ts";
import { createIdentities, hashOf, type Ports as IdentityPorts } from "./identities.ts";
import { limitsOf, refuseScopes, sharedWindowsOf } from "./new-key-limits.ts";
import { keysRepository } from "./repository.ts";
import type { keyRevocation, newApiKey } from "./schema.ts";

/** A new key. `key` is the secret: it is shown once and never stored. */
export interface NewKey {
  readonly user_id: string;
  readonly organization_id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly key?: string | undefined;
  readonly expires_at?: string | undefined;
  readonly rate_limit?: number | undefined;
  /** The calling key, if there is one. */
  readonly made_by?: string | undefined;
  /** The rate windows of its makers that count its requests too. */
  readonly shared_windows?: string | null;
}

interface Ports extends IdentityPorts, Pick<Core, "ids" | "random"> {
  /** Option `rateLimit`: the limit of keys that set none. */
  readonly rateLimit: number;
  /** Ends everything else that was created with the revoked keys. */
  readonly onEnded: (tx: Tx, organization_id: string, key_ids: ReadonlySet<string>) => Promise<void>;
}

export type KeysService = ReturnType<typeof keysService>;

/** API keys. Only the SHA-256 hash of a key is stored (schema/records.md#api-keys). */
export function keysService({ store, feed, clock, ids, random, dirty, rateLimit, onEnded }: Ports) {
  const keys = store.using(keysRepository);
  const { lastUse, ...saved } = createIdentities({ store, feed, clock, dirty });
  /** The row without its hash and without the columns for cascades and windows. */
  const view = ({ hash: _, maker_key_id: _maker, shared_windows: _windows, scopes, ...row }: Row<"api_keys">) => {
    return { scopes: JSON.parse(scopes) as string[], ...row, last_used_at: lastUse(row.id, row.last_used_at) };
  };
  /** Callers who manage users manage all keys; others manage their own. */
  const managesAll = ({ role }: Caller) => rolesFor("users:write").includes(role);

  const find = (organization_id: string, id: string, tx?: Tx) =>
    orNotFound(keys(tx).find({ organization_id, id }), "key");
  /** Another user's key is a 404, like an unknown key. */
  const findManaged = async (caller: Caller, id: string, tx?: Tx) => {
    const row = await find(caller.organization_id, id, tx);
    if (row.user_id !== caller.user_id && !managesAll(caller)) throw notFound("key");
    return row;
  };

  const insert = async (
    tx: Tx,
    { user_id, organization_id, name, scopes, key, expires_at, rate_limit, made_by, shared_windows = null }: NewKey,
  ) => {
    const secret = key ?? `sk_live_${random.alphanumeric(40)}`;
    const row: Row<"api_keys"> = {
      id: ids.next("key"),
      organization_id,
      user_id,
      name,
      hash: hashOf(secret),
      scopes: JSON.stringify(scopes),
      rate_limit: rate_limit ?? null,
      expires_at: expires_at ?? null,
      last_used_at: null,
      created_at: clock.iso(),
      created_by_key_id: made_by ?? null,
      maker_key_id: made_by ?? null,
      shared_windows,
    };
    try {
      await keys(tx).insert(row);
    } catch (error) {
      if (!store.engine.isDuplicate(error)) throw error;
      throw new Error("this API key is already in use; choose another one", { cause: error });
    }
    return { row, key: secret };
  };

  /** Ends streams and waiting requests. Running requests check their key again before they write. */
  const publishEnd = (tx: Tx, organization_id: string, user_id: string) =>
    feed.publish(tx, { kind: "rights", organization_id, user_id });

  /** Removes a key. The keys that it created stay. */
  const remove = async (tx: Tx, { organization_id, user_id, id }: Row<"api_keys">) => {
    await keys(tx).leaveToMaker({ organization_id, id });
    await keys(tx).remove({ organization_id, id });
    publishEnd(tx, organization_id, user_id);
  };

  /** Removes a key and everything created with it. All keys created with it belong to the same user. */
  const removeWithMade = async (tx: Tx, { organization_id, user_id, id }: Row<"api_keys">) => {
    const ended = await keys(tx).removeWithMade({ organization_id, id });
    publishEnd(tx, organization_id, user_id);
    await onEnded(tx, organization_id, new Set(ended.map((one) => one.id)));
  };

  return {
    insert,
    ...saved,

    current: async ({ organization_id, key_id }: Caller) => view(await find(organization_id, key_id)),

    get: async (caller: Caller, id: string) => view(await findManaged(caller, id)),

    async list(caller: Caller, query: PageQuery) {
      const { organization_id, user_id } = caller;
      const filters = managesAll(caller) ? { organization_id } : { organization_id, user_id };
      return mapLong(paginateLong(query, "api-keys", filters, keys().list), (rows) => rows.map(view));
    },

    /** Creates a key for the caller. Its scopes, rate limit and expiry do not exceed those of the calling key. */
    async create(caller: Caller, { name, scopes, expires_at, rate_limit }: v.InferOutput<typeof newApiKey>) {
      const { organization_id, user_id, key_id } = caller;
      refuseScopes(caller.scopes, scopes ?? []);
      const wanted = { expires_at: parseInstant(expires_at ?? ""), rate_limit };
      return store.transaction(caller, async (tx) => {
        // In `dev` the dashboard acts for a person without a key.
        const maker = key_id === "" ? undefined : await find(organization_id, key_id, tx);
        const limits = limitsOf(maker, wanted, rateLimit, clock.now());
        if ((await keys(tx).count({ organization_id, user_id })) >= maxKeys)
          throw new Problem("limit_reached", `a user has at most ${maxKeys} keys; revoke one first`);
        const { row, key } = await insert(tx, {
          organization_id,
          user_id,
          name,
          scopes: [...new Set(scopes ?? caller.scopes)],
          made_by: maker?.id,
          shared_windows: sharedWindowsOf(maker),
          ...limits,
        });
        feed.publish(tx, { kind: "record", organization_id, id: row.id });
        return { ...view(row), key };
      });
    },

    revoke: (caller: Caller, id: string, { cascade }: v.InferOutput<typeof keyRevocation>) =>
      store.transaction(caller, async (tx) => {
        const row = await findManaged(caller, id, tx);
        await (cascade ? removeWithMade(tx, row) : remove(tx, row));
      }),

    async all(organization_id: string) {
      const all = { after: undefined, page: 1, per_page: Number.POSITIVE_INFINITY };
      return (await keys().list.rows({ organization_id }, all)).map(view);
    },

    remove: async (tx: Tx, organization_id: string, id: string) => remove(tx, await find(organization_id, id, tx)),

    async removeOf(tx: Tx, organization_id: string, user_id: string) {
      await keys(tx).removeOf({ organization_id, user_id });
      publishEnd(tx, organization_id, user_id);
    },

    /** Removes all sessions of a user. */
    async endSignIns(tx: Tx, organization_id: string, user_id: string) {
      await keys(tx).removeSessionsOf({ organization_id, user_id });
    },
  };
}
