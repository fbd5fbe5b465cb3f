import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { parseSync } from "oxc-parser";
import { openMemory } from "../../lib/store/sqlite/database-files.ts";

interface Column {
  readonly name: string;
  readonly kind: string;
  readonly nullable: boolean;
}

/** The columns that the types declare, parsed from the source, because types do not exist at run time. */
const declared = (): Map<string, Column[]> => new Map(tablesIn("lib/store/generated/tables.ts", "Rows"));

function tablesIn(file: string, name: string): [string, Column[]][] {
  const { program } = parseSync(file, readFileSync(file, "utf8"));
  for (const statement of program.body) {
    const node = statement.type === "ExportNamedDeclaration" ? statement.declaration : undefined;
    if (node?.type !== "TSInterfaceDeclaration" || node.id.name !== name) continue;
    return members(node.body.body).map(([table, type]) => [table, columns(type)]);
  }
  throw new Error(`${file} has no interface ${name}`);
}

// biome-ignore lint/suspicious/noExplicitAny: a syntax tree, of which the tests below say whether it was read rightly
type Node = any;

const members = (nodes: readonly Node[]): [string, Node][] =>
  nodes.map((node) => [node.key.name, node.typeAnnotation.typeAnnotation]);

const columns = (type: Node): Column[] =>
  members(type.members).map(([name, of]) => {
    const parts: Node[] = of.type === "TSUnionType" ? of.types : [of];
    const nullable = parts.some((part) => part.type === "TSNullKeyword");
    return { name, kind: parts.some((part) => part.type === "TSNumberKeyword") ? "number" : "text", nullable };
  });

test("the tables in generated/tables.ts are those of the migrations, column by column", async () => {
  const { database, engine } = openMemory();
  const list = database.pragma("table_list") as { name: string; type: string }[];
  const made = list.map(({ name }) => name).filter((name) => !name.startsWith("sqlite_") && name !== "migrations");
  const tables = declared();
  assert.deepEqual([...tables.keys()].sort(), made.sort());
  for (const [table, known] of tables) {
    const info = database.pragma(`table_info(${table})`) as {
      name: string;
      type: string;
      notnull: number;
      pk: number;
    }[];
    const real = info.map(({ name, type, notnull, pk }) => {
      assert.match(type, /^(TEXT|INTEGER|BIGINT)$/, `${table}.${name} is not portable`);
      return { name, kind: type === "TEXT" ? "text" : "number", nullable: notnull === 0 && pk === 0 };
    });
    assert.deepEqual(known, real, table);
  }
  await engine.close();
});
