import { sql } from "kysely";
import type { Queries } from "../../store/query.ts";

/** How many events one read returns of an organization, at most. */
export const eventsBatch = 500;
export const organizationsBatch = 8;

export function eventsRepository(query: Queries) {
  return {
    insert: query.insert("events"),
    find: query.first((db, p: { organization_id: string; id: string }) =>
      db.selectFrom("events").select("id").where("organization_id", "=", p.organization_id).where("id", "=", p.id),
    ),
    /** No index contains the name, so listing a rare event scans the table in batches. */
    list: query.pages({ table: "events", within: ["organization_id"], filters: ["event"], indexes: [[]] }),
    /** The newest event of each organization, for the streams of this process. */
    newest: query.all((db, _: object) =>
      db.selectFrom("organizations").select((eb) => [
        "organizations.id as organization_id",
        eb
          .selectFrom("events")
          .select((of) => of.fn.max("events.id").as("id"))
          .whereRef("events.organization_id", "=", "organizations.id")
          .as("id"),
      ]),
    ),
    /** The next events of several organizations, unordered: those of `organization0` after `id0`, and so on. */
    after: query.all((db, p: Record<`${"organization" | "id"}${number}`, string>) => {
      const [first, ...others] = Array.from({ length: organizationsBatch }, (_, i) =>
        db.selectFrom(
          db
            .selectFrom("events")
            .selectAll()
            .where("organization_id", "=", p[`organization${i}`] ?? "")
            .where("id", ">", p[`id${i}`] ?? "")
            .orderBy("id")
            .limit(sql.lit(eventsBatch))
            .as("next"),
        ),
      ).map((next) => next.selectAll());
      return others.reduce((all, one) => all.unionAll(one), first as NonNullable<typeof first>);
    }),
    since: query.pages({ table: "events", within: ["organization_id"], order: "asc" }),
  };
}
