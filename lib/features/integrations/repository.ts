import { sql } from "kysely";
import type { EnvironmentRange } from "../../kernel/page.ts";
import { equal, type Queries } from "../../store/query.ts";

/** Received pushes. The `id` begins with the integration; for the connected app with `app` or an organization. */
export function pushesRepository(query: Queries) {
  return {
    insertOnce: query.change((db, p: { id: string; received_at: string }) =>
      db
        .insertInto("pushes")
        .values({ id: p.id, received_at: p.received_at })
        .onConflict((conflict) => conflict.doNothing()),
    ),
    find: query.find("pushes", ["id"]),
    prune: query.change((db, p: { before: string }) => {
      const old = db.selectFrom("pushes").select("id").where("received_at", "<", p.before).limit(sql.lit(500));
      return db.deleteFrom("pushes").where("id", "in", old);
    }),
  };
}

type Key = { organization_id: string; integration_id: string; number: number };
type OfProject = { project_id: string };

/** Queries by project. The service first checks that the project belongs to the organization. */
export function previewsRepository(query: Queries) {
  return {
    insert: query.insert("previews"),
    find: query.find("previews", ["integration_id", "number", "organization_id"]),
    remove: query.change((db, p: Key) =>
      db.deleteFrom("previews").where(equal(p, "integration_id", "number", "organization_id")),
    ),
    open: query.all((db, _: object) =>
      db.selectFrom("previews").selectAll().where("status", "=", "open").orderBy("updated_at"),
    ),
    openOfIntegration: query.all((db, p: { organization_id: string; integration_id: string }) =>
      db
        .selectFrom("previews")
        .selectAll()
        .where(equal(p, "integration_id", "organization_id"))
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
    end: query.change((db, p: OfProject & { environment: string; at: string }) =>
      db
        .updateTable("previews")
        .set({ status: "ended", updated_at: p.at })
        .where(equal(p, "project_id", "environment"))
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
