import { sql } from "kysely";
import type { EnvironmentRange } from "../../kernel/page.ts";
import type { Queries } from "../../store/query.ts";

/**
 * Received pushes by the code host's delivery id. The `id` begins with the integration; for the connected app, with
 * `app` or an organization.
 */
export function pushesRepository(query: Queries) {
  return {
    insertOnce: query.change((db, p: { id: string; received_at: string }) =>
      db
        .insertInto("pushes")
        .values({ id: p.id, received_at: p.received_at })
        .onConflict((conflict) => conflict.doNothing()),
    ),
    find: query.first((db, p: { id: string }) => db.selectFrom("pushes").select("id").where("id", "=", p.id)),
    prune: query.change((db, p: { before: string }) =>
      db
        .deleteFrom("pushes")
        .where("id", "in", (eb) =>
          eb.selectFrom("pushes").select("id").where("received_at", "<", p.before).limit(sql.lit(500)),
        ),
    ),
  };
}

type Key = { organization_id: string; integration_id: string; number: number };
type OfProject = { project_id: string };

/**
 * The environments of pull and merge requests. Queries by project rely on the service to check its organization first.
 */
export function previewsRepository(query: Queries) {
  return {
    insert: query.insert("previews"),
    find: query.first((db, p: Key) =>
      db
        .selectFrom("previews")
        .selectAll()
        .where("integration_id", "=", p.integration_id)
        .where("number", "=", p.number)
        .where("organization_id", "=", p.organization_id),
    ),
    remove: query.change((db, p: Key) =>
      db
        .deleteFrom("previews")
        .where("integration_id", "=", p.integration_id)
        .where("number", "=", p.number)
        .where("organization_id", "=", p.organization_id),
    ),
    open: query.all((db, _: object) =>
      db.selectFrom("previews").selectAll().where("status", "=", "open").orderBy("updated_at"),
    ),
    openOfIntegration: query.all((db, p: { organization_id: string; integration_id: string }) =>
      db
        .selectFrom("previews")
        .selectAll()
        .where("integration_id", "=", p.integration_id)
        .where("organization_id", "=", p.organization_id)
        .where("status", "=", "open"),
    ),
    openOfRange: query.all((db, p: EnvironmentRange) =>
      db
        .selectFrom("previews")
        .selectAll()
        .where("project_id", "=", p.project_id)
        .where("environment", ">=", p.first)
        .where("environment", "<=", p.last)
        .where("status", "=", "open"),
    ),
    /** Marks the preview as ended, because its environment was deleted. */
    end: query.change((db, p: OfProject & { environment: string; at: string }) =>
      db
        .updateTable("previews")
        .set({ status: "ended", updated_at: p.at })
        .where("project_id", "=", p.project_id)
        .where("environment", "=", p.environment)
        .where("status", "=", "open"),
    ),
    removeOfProject: query.change((db, p: OfProject) =>
      db.deleteFrom("previews").where("project_id", "=", p.project_id),
    ),
    prune: query.change((db, p: { before: string }) =>
      db.deleteFrom("previews").where(
        (eb) => eb.refTuple("integration_id", "number"),
        "in",
        (eb) =>
          eb
            .selectFrom("previews")
            .select(["integration_id", "number"])
            .where("status", "in", ["closed", "ended"])
            .where("updated_at", "<", p.before)
            .limit(sql.lit(500))
            .$asTuple("integration_id", "number"),
      ),
    ),
  };
}
