import { sql } from "kysely";
import type { QueryBuilder } from "../../store/engine.ts";
import type { Queries } from "../../store/query.ts";
import { queued, running } from "./repository.ts";

type Key = { organization_id: string; project_id: string; environment: string };

const inEnvironment = (db: QueryBuilder, p: Omit<Key, "organization_id">) =>
  db.selectFrom("deployments").where("project_id", "=", p.project_id).where("environment", "=", p.environment);
const newestFirst = (db: QueryBuilder, p: Key) =>
  inEnvironment(db, p).where("organization_id", "=", p.organization_id).orderBy("id", "desc").limit(sql.lit(1));

/** The newest deployments of an environment, and those that have not ended. */
export function environmentDeploymentsRepository(query: Queries) {
  return {
    /** A deployment that a new one would have to wait for. */
    unfinished: query.first((db, p: Omit<Key, "organization_id">) =>
      inEnvironment(db, p)
        .select("id")
        .where(queued)
        .unionAll(inEnvironment(db, p).select("id").where(running))
        .limit(sql.lit(1)),
    ),
    newest: query.first((db, p: Key) => newestFirst(db, p).select("created_at")),
    /** The newest deployment of a commit. */
    newestOf: query.first((db, p: Key & { commit: string }) =>
      newestFirst(db, p)
        .selectAll()
        .where((eb) => eb.or([eb("revision", "=", p.commit), eb("version", "=", p.commit), eb("pin", "=", p.commit)])),
    ),
  };
}
