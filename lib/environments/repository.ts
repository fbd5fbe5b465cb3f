import type { Queries } from "../store/query.ts";

/** Scoped by the project, which was found in its organization before. */
export function environmentsRepository(query: Queries) {
  return {
    insert: query.insert("environments"),
    /** "Made on first use." */
    ensure: query.change((db, p: { project_id: string; name: string }) =>
      db
        .insertInto("environments")
        .values({ project_id: p.project_id, name: p.name, variables: "{}" })
        .onConflict((conflict) => conflict.doNothing()),
    ),
  };
}
