import { hash } from "node:crypto";
import type { Feed } from "../events/feed.ts";
import { type Clock, isoOf } from "../kernel/clock.ts";
import { milliseconds } from "../kernel/duration.ts";
import { notFound } from "../kernel/errors.ts";
import type { Ids } from "../kernel/ids.ts";
import type { Caller } from "../kernel/operation.ts";
import type { Random } from "../kernel/random.ts";
import type { Tx } from "../kernel/unit.ts";
import type { Store } from "../store/store.ts";
import type { Row } from "../store/tables.ts";
import { keysRepository } from "./repository.ts";

/** A new key. `key` is the whole secret: it is shown once and stored nowhere. */
export interface NewKey {
  readonly user_id: string;
  readonly organization_id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly key?: string | undefined;
  readonly expires_at?: string | undefined;
  readonly rate_limit?: number | undefined;
}

/** Whom a key speaks for, and how many requests it may make in a window. */
export interface Identity {
  readonly caller: Caller;
  readonly rate_limit: number | null;
  readonly expires_at: string | null;
}

const minute_ms = milliseconds("1m");

/** Keys are long and random, so one round of SHA-256 is enough: a slow hash would cost every request. */
export const hashOf = (secret: string): string => hash("sha256", secret, "hex");

interface Use {
  readonly organization_id: string;
  readonly at: number;
}

export type KeysService = ReturnType<typeof keysService>;

/** API keys. Only a SHA-256 of a key is stored; rights are looked up anew at every request, so revoking is immediate. */
export function keysService({
  store,
  feed,
  clock,
  ids,
  random,
}: {
  store: Store;
  feed: Feed;
  clock: Clock;
  ids: Ids;
  random: Random;
}) {
  const keys = store.using(keysRepository);
  const used = new Map<string, Use>();
  /** When a key was last used, whether that is written by now or not. */
  const lastUse = (id: string, written: string | null) =>
    used.get(id)?.at ?? (written === null ? null : Date.parse(written));
  /** What can be told of a key. */
  const viewOf = ({ hash: _, scopes, ...row }: Row<"api_keys">) => {
    const at = lastUse(row.id, row.last_used_at);
    return { ...row, scopes: JSON.parse(scopes) as string[], last_used_at: at === null ? null : isoOf(at) };
  };
  return {
    async insert(tx: Tx, { user_id, organization_id, name, scopes, key, expires_at, rate_limit }: NewKey) {
      const secret = key ?? `sk_live_${random.letters(40)}`;
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
        throw new Error("this API key is already in use; choose another one", {
          cause: error,
        });
      }
      return { row, key: secret };
    },

    /** The caller behind a bearer token; undefined for every reason alike. */
    async identify(token: string, tx?: Tx): Promise<Identity | undefined> {
      const row = await keys(tx).identify({ hash: hashOf(token) });
      if (row?.status !== "active") return undefined;
      const now = clock.now();
      if (row.expires_at !== null && row.expires_at <= isoOf(now)) return undefined;
      const { organization_id, user_id, role, key_id, plan } = row;
      // Told at most once a minute, and written with the next flush: reading must not cost a commit.
      const last = lastUse(key_id, row.last_used_at);
      if (last === null || last + minute_ms <= now) used.set(key_id, { organization_id, at: now });
      return {
        caller: {
          organization_id,
          plan,
          user_id,
          role,
          key_id,
          scopes: JSON.parse(row.scopes) as string[],
        },
        rate_limit: row.rate_limit,
        expires_at: row.expires_at,
      };
    },

    /** Writes when keys were last used; called once a second at most, and before closing. */
    async flush(tx: Tx) {
      for (const [id, pending] of used) {
        await keys(tx).used({ id, organization_id: pending.organization_id, last_used_at: isoOf(pending.at) });
        tx.afterCommit(() => used.get(id) === pending && used.delete(id));
      }
    },

    save: (): unknown => [...used],
    load(kept: unknown) {
      used.clear();
      for (const [id, use] of kept as [string, Use][]) used.set(id, use);
    },

    /** The key of this very request. */
    async current({ organization_id, key_id }: Caller) {
      const row = await keys().find({ organization_id, id: key_id });
      if (!row) throw notFound("key");
      return viewOf(row);
    },

    async all(organization_id: string) {
      return (
        await keys().list.rows({ organization_id }, { after: undefined, page: 1, per_page: Number.POSITIVE_INFINITY })
      ).map(viewOf);
    },

    async remove(tx: Tx, organization_id: string, id: string) {
      const row = await keys(tx).find({ organization_id, id });
      if (!row) throw notFound("key");
      await keys(tx).remove(row);
      feed.tell(tx, { kind: "rights", organization_id, user_id: row.user_id });
    },
    /** All keys of a user who leaves. */
    async removeOf(tx: Tx, organization_id: string, user_id: string) {
      await keys(tx).removeOf({ organization_id, user_id });
      feed.tell(tx, { kind: "rights", organization_id, user_id });
    },
  };
}
