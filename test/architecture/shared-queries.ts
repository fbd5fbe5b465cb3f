import { sharedTables } from "../../lib/store/query.ts";
import { isRepository } from "./folders.ts";
import { type Query, queriesOf } from "./queries.ts";
import { nodes, type Rule, said } from "./source.ts";

/** The tables of a query whose rows the transactions of a group must not share. */
const unshareable = ({ isShared, given }: Query): string[] =>
  nodes(given)
    .filter((node) => isShared && /(From|Join|find)$/.test(node["callee"]?.property?.name ?? ""))
    .map((node) => String(node["arguments"][0].value))
    .filter((table) => !sharedTables.has(table));

const sharing = (table: string, way = "") =>
  `export const a = (query) => ({ b: query.all((db) => db.selectFrom("${table}")${way}) });`;

export const sharedQueryRule: Rule = {
  name: "a shared query reads only tables whose rows a group may share",
  of: (source) =>
    isRepository(source.path)
      ? queriesOf(source).flatMap((query) =>
          unshareable(query).map((table) => said(source, query.line, `shares rows of ${table}; see sharedTables`)),
        )
      : [],
  breaks: [
    ["lib/features/users/repository.ts", sharing("jobs", ', "shared"')],
    ["lib/features/users/repository.ts", 'export const a = (query) => ({ b: query.find("jobs", ["id"], "shared") });'],
  ],
  keeps: [
    ["lib/features/users/repository.ts", sharing("users", ', "shared"')],
    ["lib/features/users/repository.ts", sharing("jobs")],
  ],
};
