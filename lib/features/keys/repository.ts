import { sql } from "kysely";
import { equal, type Queries } from "../../store/query.ts";

type Key = { organization_id: string; id: string };
type OfUser = { organization_id: string; user_id: string };

export function keysRepository(query: Queries) {
  return {
    insert: query.insertUnique("api_keys"),
    /** Authenticates: the only query that finds a key without an organization. */
    identify: query.first(
      (db, p: { hash: string }) =>
        db
          .selectFrom("api_keys")
          .innerJoin("users", "users.id", "api_keys.user_id")
          .select([
            "api_keys.id as key_id",
            "api_keys.organization_id",
            "api_keys.scopes",
            "api_keys.rate_limit",
            "api_keys.shared_windows",
            "api_keys.expires_at",
            "api_keys.last_used_at",
            "api_keys.user_id",
            "users.role",
            "users.status",
          ])
          .where("api_keys.hash", "=", p.hash),
      "shared",
    ),
    insertSession: query.insert("sessions"),
    /** The user of a session and its key, if it has one. Read at every request, like the user of a key. */
    identifySession: query.first(
      (db, p: { hash: string }) =>
        db
          .selectFrom("sessions")
          .innerJoin("users", "users.id", "sessions.user_id")
          .leftJoin("api_keys", "api_keys.id", "sessions.api_key_id")
          .select([
            "sessions.api_key_id",
            "sessions.organization_id",
            "sessions.user_id",
            "api_keys.id as key_id",
            "api_keys.scopes",
            "api_keys.expires_at as key_expires_at",
            "users.role",
            "users.status",
            "sessions.expires_at",
          ])
          .where("sessions.hash", "=", p.hash),
      "shared",
    ),
    removeSession: query.pipelined((db, p: { hash: string }) => db.deleteFrom("sessions").where("hash", "=", p.hash)),
    removeSessionsOf: query.pipelined((db, p: OfUser) =>
      db.deleteFrom("sessions").where(equal(p, "user_id", "organization_id")),
    ),
    pruneSessions: query.pipelined((db, p: { before: string }) =>
      db.deleteFrom("sessions").where("expires_at", "<", p.before),
    ),
    insertUsed: query.insertUnique("used_sign_ins"),
    pruneUsed: query.pipelined((db, p: { before: string }) =>
      db.deleteFrom("used_sign_ins").where("expires_at", "<", p.before),
    ),
    find: query.find("api_keys", ["id", "organization_id"]),
    list: query.pages({ table: "api_keys", within: ["organization_id"], filters: ["user_id"] }),
    count: query.count((db, p: OfUser) =>
      db
        .selectFrom("api_keys")
        .select("id")
        .where(equal(p, "user_id", "organization_id")),
    ),
    used: query.pipelined((db, p: Key & { last_used_at: string }) =>
      db
        .updateTable("api_keys")
        .set({ last_used_at: p.last_used_at })
        .where(equal(p, "id", "organization_id")),
    ),
    remove: query.pipelined((db, p: Key) => db.deleteFrom("api_keys").where(equal(p, "id", "organization_id"))),
    /** Runs before a key is removed: its maker becomes the maker of the keys that it created. */
    leaveToMaker: query.pipelined((db, p: Key) =>
      db
        .updateTable("api_keys")
        .set((eb) => ({
          maker_key_id: eb.selectFrom("api_keys as ended").select("ended.maker_key_id").where("ended.id", "=", p.id),
        }))
        .where(sql<boolean>`maker_key_id is not null`)
        .where("maker_key_id", "=", p.id)
        .where("organization_id", "=", p.organization_id),
    ),
    /** Removes a key and all keys that descend from it; returns them. */
    removeWithMade: query.all(
      (_, p: Key) => sql<{ id: string }>`
        with recursive ended (id) as (
          select id from api_keys where id = ${p.id} and organization_id = ${p.organization_id}
          union
          select made.id from ended join api_keys as made
            on made.maker_key_id = ended.id and made.maker_key_id is not null
        )
        delete from api_keys where id in (select id from ended) returning id`,
    ),
    removeOf: query.pipelined((db, p: OfUser) =>
      db.deleteFrom("api_keys").where(equal(p, "user_id", "organization_id")),
    ),
  };
}
