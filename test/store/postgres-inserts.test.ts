import { strict as assert } from "node:assert";
import { test } from "node:test";
import { createInserts } from "../../lib/store/postgres/merged-inserts.ts";
import fc from "../helpers/fast-check.ts";

const tables = ["deployments", "logs", "events"] as const;
const placeholders = (row: number) => `($${2 * row + 1}, $${2 * row + 2})`;
/** The inserts into each table, by their number of rows. */
const insertInto = Object.fromEntries(
  tables.map((table) => [
    table,
    (rows: number) =>
      `insert into "${table}" ("id", "member") values ${Array.from({ length: rows }, (_, i) => placeholders(i))}`,
  ]),
);

/** Runs members, each a list of tables to insert into. Returns the rows in the order in which they are stored. */
function stored(members: readonly (readonly (typeof tables)[number][])[]) {
  const statements: { readonly text: string; readonly rows: { table: string; id: number; member: number }[] }[] = [];
  const inserts = createInserts((text, values) => {
    const table = /"(\w+)"/.exec(text)?.[1] ?? "";
    const places = [...text.matchAll(/\$(\d+)/g)].map(([, place]) => Number(place));
    assert.deepEqual(
      places,
      Array.from(values, (_, i) => i + 1),
      "each value has its placeholder",
    );
    const rows = Array.from({ length: values.length / 2 }, (_, i) => ({
      table,
      id: values[2 * i] as number,
      member: values[2 * i + 1] as number,
    }));
    statements.push({ text, rows });
  });
  let id = 0;
  for (const [member, given] of members.entries()) {
    inserts.beginMember();
    for (const table of given) inserts.add(insertInto[table] as (rows: number) => string, [id++, member]);
  }
  inserts.flush();
  return { statements, rows: statements.flatMap(({ rows }) => rows) };
}

const someMembers = fc.array(fc.array(fc.constantFrom(...tables), { maxLength: 6 }), { maxLength: 70 });

test("every row of a group is stored once, and each member's rows in their order", () => {
  fc.assert(
    fc.property(someMembers, (members) => {
      const { rows } = stored(members);
      const ids = rows.map(({ id }) => id);
      assert.deepEqual(
        ids.toSorted((a, b) => a - b),
        Array.from(ids, (_, i) => i),
      );
      for (const [member, given] of members.entries()) {
        const own = rows.filter((row) => row.member === member);
        assert.deepEqual(
          own,
          own.toSorted((a, b) => a.id - b.id),
        );
        assert.deepEqual(
          own.map(({ table }) => table),
          given,
        );
      }
    }),
  );
});

test("members that insert into the same tables share statements", () => {
  const { statements } = stored(Array.from({ length: 45 }, () => tables));
  assert.deepEqual(
    statements.map(({ rows }) => [rows[0]?.table, rows.length]),
    tables.flatMap((table) => [32, 8, 4, 1].map((rows) => [table, rows])),
  );
});
