import { sql } from "kysely";
import type { QueryBuilder } from "../store/engine.ts";
import type { Queries } from "../store/query.ts";

type Key = { organization_id: string; project_id: string; environment: string };

const newestFirst = (db: QueryBuilder, p: Key) =>
  db
    .selectFrom("deployments")
    .where("project_id", "=", p.project_id)
    .where("environment", "=", p.environment)
    .where("organization_id", "=", p.organization_id)
    .orderBy("id", "desc")
    .limit(sql.lit(1));

/** The newest deployments of an environment. */
export function environmentDeploymentsRepository(query: Queries) {
  return {
    newest: query.first((db, p: Key) => newestFirst(db, p).select("created_at")),
    /** The newest deployment of a commit. */
    newestOf: query.first((db, p: Key & { commit: string }) =>
      newestFirst(db, p)
        .selectAll()
        .where((eb) => eb.or([eb("revision", "=", p.commit), eb("version", "=", p.commit), eb("pin", "=", p.commit)])),
    ),
  };
}
