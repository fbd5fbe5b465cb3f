import type { Queries } from "../../store/query.ts";

export function scenariosRepository(query: Queries) {
  return {
    insert: query.insert("scenarios"),
    all: query.all((db, _: object) => db.selectFrom("scenarios").selectAll().orderBy("id")),
    use: query.change((db, p: { id: string }) =>
      db
        .updateTable("scenarios")
        .set((eb) => ({ used: eb("used", "+", 1) }))
        .where("id", "=", p.id),
    ),
    remove: query.change((db, p: { id: string }) => db.deleteFrom("scenarios").where("id", "=", p.id)),
    clear: query.change((db, _: object) => db.deleteFrom("scenarios")),
  };
}
