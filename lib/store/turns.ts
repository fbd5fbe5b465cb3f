import type { Queries } from "./query.ts";

/** The organization that was served last, for each queue that organizations share. */
export function turnsRepository(query: Queries) {
  return {
    last: query.first((db, p: { queue: string }) =>
      db.selectFrom("turns").select("organization_id").where("queue", "=", p.queue),
    ),
    set: query.pipelined((db, p: { queue: string; organization_id: string }) =>
      db
        .insertInto("turns")
        .values({ queue: p.queue, organization_id: p.organization_id })
        .onConflict((conflict) => conflict.column("queue").doUpdateSet({ organization_id: p.organization_id })),
    ),
  };
}
