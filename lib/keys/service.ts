import { hash } from "node:crypto";
import type * as v from "valibot";
import type { ChangeFeed } from "../events/change-feed.ts";
import { type Clock, isoOf, parseInstant } from "../kernel/clock.ts";
import { milliseconds } from "../kernel/duration.ts";
import { invalid, notFound, Problem } from "../kernel/errors.ts";
import type { Ids } from "../kernel/ids.ts";
import type { Caller } from "../kernel/operation.ts";
import { mapPage, type PageQuery, paginate } from "../kernel/page.ts";
import type { Random } from "../kernel/random.ts";
import { covers, rolesFor, type Scope } from "../kernel/roles.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import type { Store } from "../store/store.ts";
import type { Row } from "../store/tables.ts";
import { keysRepository } from "./repository.ts";
import type { newApiKey } from "./schema.ts";

/** A new key. `key` is the secret: it is shown once and never stored. */
export interface NewKey {
  readonly user_id: string;
  readonly organization_id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly key?: string | undefined;
  readonly expires_at?: string | undefined;
  readonly rate_limit?: number | undefined;
}

/** The caller of a key, and its limits. */
export interface Identity {
  readonly caller: Caller;
  readonly rate_limit: number | null;
  readonly expires_at: string | null;
  /** Whether no rights have changed since, in this process or another: then none of this has to be read again. */
  isCurrent(): boolean;
}

const minute_ms = milliseconds("1m");
/** Each key has a rate window of its own, so the number of keys is limited. */
const maxKeys = 100;

/** Keys are long and random, so one round of SHA-256 is enough; a slow hash would slow down every request. */
export const hashOf = (secret: string): string => hash("sha256", secret, "hex");

interface Use {
  readonly organization_id: string;
  readonly at: string;
}

export type KeysService = ReturnType<typeof keysService>;

/** API keys. Only a SHA-256 of a key is stored. Every request reads the rights again, so that revoking is immediate. */
export function keysService({
  store,
  feed,
  clock,
  ids,
  random,
}: {
  store: Store;
  feed: ChangeFeed;
  clock: Clock;
  ids: Ids;
  random: Random;
}) {
  const keys = store.using(keysRepository);
  const pendingUses = new Map<string, Use>();
  /** The time of the last use, written or pending. */
  const lastUse = (id: string, written: string | null) => pendingUses.get(id)?.at ?? written;
  /** The row without the hash. */
  const view = ({ hash: _, scopes, ...row }: Row<"api_keys">) => {
    return { ...row, scopes: JSON.parse(scopes) as string[], last_used_at: lastUse(row.id, row.last_used_at) };
  };
  /** Callers who manage users manage all keys, others their own. */
  const managesAll = ({ role }: Caller) => rolesFor("users:write").includes(role);

  const find = async (organization_id: string, id: string, tx?: Tx) => {
    const row = await keys(tx).find({ organization_id, id });
    if (!row) throw notFound("key");
    return row;
  };
  /** The key of another user is 404, like an unknown key. */
  const findManaged = async (caller: Caller, id: string, tx?: Tx) => {
    const row = await find(caller.organization_id, id, tx);
    if (row.user_id !== caller.user_id && !managesAll(caller)) throw notFound("key");
    return row;
  };

  const refuseScopes = (caller: Caller, scopes: readonly Scope[]) => {
    const lacking = scopes.filter((scope) => !covers(caller.scopes, scope));
    if (lacking.length === 0) return;
    throw new Problem(
      "insufficient_scope",
      `this key cannot give the scopes ${lacking.join(", ")}, because it has only ${caller.scopes.join(", ")}; leave them out`,
    );
  };

  const remove = async (tx: Tx, { organization_id, user_id, id }: Row<"api_keys">) => {
    await keys(tx).remove({ organization_id, id });
    feed.publish(tx, { kind: "rights", organization_id, user_id });
  };

  const insert = async (tx: Tx, { user_id, organization_id, name, scopes, key, expires_at, rate_limit }: NewKey) => {
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
    };
    try {
      await keys(tx).insert(row);
    } catch (error) {
      if (!store.engine.isDuplicate(error)) throw error;
      throw new Error("this API key is already in use; choose another one", { cause: error });
    }
    return { row, key: secret };
  };

  const hasExpired = (expires_at: string | null) => expires_at !== null && expires_at <= clock.iso();

  return {
    insert,

    /** The id of a token's key, if the key is valid now. This does not count as a use. */
    async findId(token: string): Promise<string | undefined> {
      const row = await keys().identify({ hash: hashOf(token) });
      return row?.status === "active" && !hasExpired(row.expires_at) ? row.key_id : undefined;
    },

    /** The caller of a bearer token; undefined if the token is not valid, for any reason. */
    async identify(token: string, tx?: Tx): Promise<Identity | undefined> {
      const [rights, others] = [feed.rightsChanges(), store.engine.others()];
      const row = await keys(tx).identify({ hash: hashOf(token) });
      if (row?.status !== "active") return undefined;
      const { organization_id, user_id, role, key_id, expires_at } = row;
      const now = clock.now();
      if (hasExpired(expires_at)) return undefined;
      // Noted once a minute at most, and written by the next flush: a read must not need a commit.
      const last = lastUse(key_id, row.last_used_at);
      if (last === null || last <= isoOf(now - minute_ms)) pendingUses.set(key_id, { organization_id, at: isoOf(now) });
      return {
        caller: { organization_id, user_id, role, key_id, scopes: JSON.parse(row.scopes) as string[] },
        rate_limit: row.rate_limit,
        expires_at,
        isCurrent: () => feed.rightsChanges() === rights && store.engine.others() === others && !hasExpired(expires_at),
      };
    },

    /** Writes the pending uses. Called once a second at most, and before closing. */
    async flush(tx: Tx) {
      // In one order in all processes, or two would wait for each other's rows.
      for (const [id, pending] of [...pendingUses].sort()) {
        await keys(tx).used({ id, organization_id: pending.organization_id, last_used_at: pending.at });
        tx.afterCommit(() => pendingUses.get(id) === pending && pendingUses.delete(id));
      }
    },

    save: (): unknown => [...pendingUses],
    load(saved: unknown) {
      pendingUses.clear();
      for (const [id, use] of saved as [string, Use][]) pendingUses.set(id, use);
    },

    /** The key of the request. */
    current: async ({ organization_id, key_id }: Caller) => view(await find(organization_id, key_id)),

    get: async (caller: Caller, id: string) => view(await findManaged(caller, id)),

    async list(caller: Caller, query: PageQuery) {
      const { organization_id, user_id } = caller;
      const filters = managesAll(caller) ? { organization_id } : { organization_id, user_id };
      return mapPage(await paginate(query, "api-keys", filters, keys().list, { everything: true }), view);
    },

    /** Makes a key of the caller. Its scopes, rate limit and expiry do not exceed those of the key that makes it. */
    async create(caller: Caller, { name, scopes, expires_at: given }: v.InferOutput<typeof newApiKey>) {
      const { organization_id, user_id, key_id } = caller;
      refuseScopes(caller, scopes ?? []);
      const wanted = parseInstant(given ?? "");
      if (wanted !== undefined && wanted <= clock.now()) throw invalid("expires_at", "must be in the future");
      return store.transaction(async (tx) => {
        // In `dev` the dashboard acts for a person without a key.
        const maker = key_id === "" ? undefined : await find(organization_id, key_id, tx);
        const latest = maker?.expires_at ?? undefined;
        const expires_at = wanted === undefined ? latest : isoOf(wanted);
        if (latest !== undefined && expires_at !== undefined && expires_at > latest)
          throw invalid("expires_at", `must not be after ${latest}, when the key that makes it expires`);
        if ((await keys(tx).count({ organization_id, user_id })) >= maxKeys)
          throw new Problem("limit_reached", `a user has at most ${maxKeys} keys; revoke one first`);
        const rate_limit = maker?.rate_limit ?? undefined;
        const { row, key } = await insert(tx, {
          organization_id,
          user_id,
          name,
          scopes: [...new Set(scopes ?? caller.scopes)],
          expires_at,
          rate_limit,
        });
        feed.publish(tx, { kind: "record", organization_id, id: row.id });
        return { ...view(row), key };
      }, caller);
    },

    revoke: (caller: Caller, id: string) =>
      store.transaction(async (tx) => remove(tx, await findManaged(caller, id, tx)), caller),

    async all(organization_id: string) {
      return (
        await keys().list.rows({ organization_id }, { after: undefined, page: 1, per_page: Number.POSITIVE_INFINITY })
      ).map(view);
    },

    remove: async (tx: Tx, organization_id: string, id: string) => remove(tx, await find(organization_id, id, tx)),
    /** Removes all keys of a user. */
    async removeOf(tx: Tx, organization_id: string, user_id: string) {
      await keys(tx).removeOf({ organization_id, user_id });
      feed.publish(tx, { kind: "rights", organization_id, user_id });
    },
  };
}
