import { type RawBuilder, sql } from "kysely";

/** A row as JSON: one object for each combination of optional columns that are not null. */
export function jsonOf(
  columns: readonly string[],
  [first, ...others]: readonly string[],
  json: readonly string[],
): RawBuilder<string> {
  if (first === undefined) {
    const value = (name: string) => (json.includes(name) ? sql`json(${sql.ref(name)})` : sql.ref(name));
    return sql<string>`json_object(${sql.join(columns.flatMap((name) => [sql.lit(name), value(name)]))})`;
  }
  return sql<string>`case when ${sql.ref(first)} is null then ${jsonOf(columns, others, json)} else ${jsonOf([...columns, first], others, json)} end`;
}
