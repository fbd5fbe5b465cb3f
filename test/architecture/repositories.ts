import { readFileSync } from "node:fs";
import { folderOf, isRepository, roomOf } from "./folders.ts";
import { type Query, queriesOf } from "./queries.ts";
import { isFunction, type Node, nameOf, nodes, parse, type Rule, type Source, said } from "./source.ts";

/** Repository functions without an organization, each with its reason. `jobs/*` is every function of a repository. */
const unscoped: Readonly<Record<string, string>> = {
  "jobs/*": "the job loop works for every organization",
  "http/*": "rate windows by bucket, and answers by API key, which belongs to one organization",
  "organizations/insert": "the root of a scope",
  "organizations/any": "start-up: whether there is one yet",
  "organizations/findByName": "start-up, the operator's commands, and whether a name is free",
  "organizations/all": "the dashboard of the mode dev, which acts for every person",
  "keys/identify": "sign-in: a key tells its organization",
  "keys/identifySession": "sign-in: a session tells its organization",
  "keys/removeSession": "sign-out: the holder of a token ends its session",
  "keys/pruneSessions": "periodic work, for every organization",
  "keys/insertUsed": "sign-in: who it is of is not known yet",
  "keys/pruneUsed": "periodic work, for every organization",
  "invitations/withToken": "the invitee has a token and no organization yet",
  "invitations/prune": "periodic work, for every organization",
  "events/newest": "the streams of a process, which hear every organization",
  "events/after": "the streams of a process, which hear every organization",
  "audit/organizations": "periodic work, for every organization",
  "mails/clear": "the tester's: the control interface of `dev`",
  "mails/all": "the operator's: the control interface and the command line",
  "mails/prune": "periodic work, for every organization",
  "apps/*": "scoped by the project, which its service found in the organization; the proxy serves every organization",
  "deployments/releases": "a runtime: the releases of an environment, by the project of a row that it holds",
  "environments/*":
    "scoped by the project, which its service found in the organization; the proxy serves every organization",
  "scenarios/*": "the tester's, of the mode dev: what every organization's simulated work does",
  "deliveries/ofType": "pushes of the connected app reach every organization's integrations",
  "deliveries/forJob": "the job loop works for every organization",
  "deliveries/succeededAfter": "the job loop: one endpoint at a time, which belongs to one organization",
  "deliveries/countRedelivery": "the job loop works for every organization",
  "deliveries/due": "the job loop: one endpoint at a time, which belongs to one organization",
  "deliveries/pending": "a metric of the whole service",
  "deliveries/prune": "periodic work, for every organization",
  "deliveries/next": "the job loop: one endpoint at a time, which belongs to one organization",
  "integrations/insertOnce": "a push is known by the integration that it came to",
  "integrations/insert": "a preview's row names the organization of its integration",
  "integrations/open": "periodic work, for every organization",
  "integrations/openOfRange": "scoped by the project, which its service found in the organization",
  "integrations/end": "scoped by the project, which its service found in the organization",
  "integrations/removeOfProject": "scoped by the project, which its service found in the organization",
  "integrations/find": "a push of the connected app reaches every organization's integrations",
  "integrations/prune": "periodic work, for every organization",
  "generations/byId": "the job loop, and who holds a signed link, work for every organization",
  "generations/running": "the job loop: the limit is one over all",
  "generations/oldestReady": "the job loop: the limit is one over all",
  "generations/nextReady": "the job loop: organizations take turns",
  "generations/countQueued": "a metric of the whole service",
  "generations/expiredFiles": "periodic work, for every organization",
  "generations/clearFile": "periodic work, for every organization",
  "deployments/byId": "the job loop works for every organization",
  "deployments/running": "the job loop: the limit is one over all",
  "deployments/head": "the job loop: an environment's queue, by the project of a row that it holds",
  "deployments/runningIn": "the job loop: whether an environment is busy, by the project of a row that it holds",
  "deployments/unfinished":
    "whether an environment is busy, by a project that its service finds in the organization, or refuses",
  "deployments/countQueued": "a metric of the whole service",
  "deployments/removeBatch": "scoped by the project, which its service found in the organization",
  "deployments/removeLogBatch": "scoped by the project, which its service found in the organization",
  "projects/hide": "scoped by the project, which its service found in the organization",
  "deployments/markReady": "the job loop: the limit is one over all",
  "deployments/nextReadyAt": "the job loop: one job for every organization",
  "deployments/nextReadyHead": "the job loop: the limit is one over all",
};

/** The tables with an `organization_id` in their rows. */
const scopedTables = (() => {
  const path = "lib/store/generated/tables.ts";
  const tables = [...nodes(parse(path, readFileSync(path, "utf8")).program)].find(
    (node) => node.type === "TSInterfaceDeclaration" && node["id"].name === "Rows",
  );
  return (tables?.["body"].body ?? []).flatMap((table: Node) =>
    membersOf(table["typeAnnotation"].typeAnnotation, new Map()).includes("organization_id") ? [table["key"].name] : [],
  );
})();

/** The member names of a type: a literal, an intersection, or an alias in the same file. */
function membersOf(type: Node | undefined, aliases: ReadonlyMap<string, Node>): string[] {
  if (type?.type === "TSTypeLiteral") return type["members"].map(({ key }: Node) => key?.name);
  if (type?.type === "TSIntersectionType") return type["types"].flatMap((part: Node) => membersOf(part, aliases));
  return type?.type === "TSTypeReference" ? membersOf(aliases.get(nameOf(type["typeName"])), aliases) : [];
}

/** Whether a function puts the organization of one of its parameters into a query, itself or through another function. */
function usesOrganization(source: Source, body: Node, parameter: string): boolean {
  return nodes(body).some((node) => {
    if (nameOf(node) === `${parameter}.organization_id`) return true;
    if (node.type !== "CallExpression") return false;
    const given = node["arguments"] as Node[];
    const i = given.findIndex((one) => nameOf(one) === parameter);
    if (i < 0) return false;
    if (nameOf(node["callee"]) === "equal") return given.some((one) => one["value"] === "organization_id");
    const called = nodes(source.program).find(
      ({ type, id }) => type === "VariableDeclarator" && id.name === nameOf(node["callee"]),
    )?.["init"];
    const next = called && isFunction(called) ? nameOf(called["params"][i]) : "";
    return next !== "" && usesOrganization(source, called, next);
  });
}

/** Whether a query can only reach the rows of one organization. */
function isScoped(source: Source, { kind, given }: Query): boolean {
  if (kind === "insert" || kind === "insertUnique") return scopedTables.includes(given["value"]);
  if (kind === "pages") return /within: \[[^\]]*"organization_id"/.test(source.text.slice(given.start, given.end));
  if (kind === "find" || kind === "update") {
    const [table, by] = given["arguments"];
    const column = table.value === "organizations" ? "id" : "organization_id";
    return by.elements.some((one: Node) => one["value"] === column);
  }
  const aliases = new Map<string, Node>();
  for (const node of nodes(source.program))
    if (node.type === "TSTypeAliasDeclaration") aliases.set(node["id"].name, node["typeAnnotation"]);
  const parameter = given["params"]?.[1];
  const members = membersOf(parameter?.typeAnnotation?.typeAnnotation, aliases);
  const isUsed = usesOrganization(source, given, parameter?.name);
  return members.includes("organization_id") && isUsed;
}

const place = (source: Source, name: string) => `${folderOf(source.path)}/${name}`;
const isExempt = (source: Source, { name }: Query) => place(source, name) in unscoped || place(source, "*") in unscoped;

/** Names in `unscoped` without a query. */
export function stale(all: readonly Source[]): string[] {
  const known = all.flatMap((source) =>
    isRepository(source.path)
      ? ["*", ...queriesOf(source).map(({ name }) => name)].map((name) => place(source, name))
      : [],
  );
  return Object.keys(unscoped).filter((name) => !known.includes(name));
}

const find = (where: string) =>
  `type Key = { organization_id: string; id: string };
  export const a = (query) => ({ find: query.first((db, p: Key) => db.selectFrom("users").where("id", "=", p.id)${where}) });`;
/** A query through a function of the same file. */
const through = (where: string) =>
  `type Key = { organization_id: string; id: string };
  const own = (db, q) => db.selectFrom("users")${where};
  export const a = (query) => ({ find: query.first((db, p: Key) => own(db, p).selectAll()) });`;
const bound = (expression: string) => `export const a = (query) => ({ find: query.first((db, p) => ${expression}) });`;

/** Rules 3 and 4 of "Never", as far as repositories show. */
export const repositoryRules: readonly Rule[] = [
  {
    name: "a repository function is scoped to an organization",
    of: (source) =>
      isRepository(source.path)
        ? queriesOf(source)
            .filter((query) => !isExempt(source, query) && !isScoped(source, query))
            .map(({ name, line }) =>
              said(
                source,
                line,
                `${place(source, name)} reaches rows of every organization; take organization_id and put it into the query, or name it with its reason in test/architecture/repositories.ts`,
              ),
            )
        : [],
    breaks: [
      ["lib/features/users/repository.ts", find("")],
      ["lib/features/users/repository.ts", bound('db.deleteFrom("users").where("id", "=", p.id)')],
      [
        "lib/features/users/repository.ts",
        'export const a = (query) => ({ list: query.pages({ table: "users", filters: ["status"] }) });',
      ],
      ["lib/features/users/repository.ts", 'export const a = (query) => ({ insert: query.insert("rate_windows") });'],
      ["lib/features/users/repository.ts", find('.where(equal(p, "id"))')],
      ["lib/features/users/repository.ts", through('.where("id", "=", q.id)')],
      ["lib/features/users/repository.ts", 'export const a = (query) => ({ find: query.find("users", ["id"]) });'],
      [
        "lib/features/users/repository.ts",
        'export const a = (query) => ({ update: query.update("users", ["id"], ["organization_id"]) });',
      ],
    ],
    keeps: [
      ["lib/features/users/repository.ts", find('.where("organization_id", "=", p.organization_id)')],
      ["lib/features/users/repository.ts", find('.where(equal(p, "organization_id"))')],
      ["lib/features/users/repository.ts", through('.where("organization_id", "=", q.organization_id)')],
      [
        "lib/features/users/repository.ts",
        'export const a = (query) => ({ find: query.find("users", ["id", "organization_id"]) });',
      ],
      ["lib/jobs/repository.ts", find("")],
      ["lib/features/users/repository.ts", 'export const a = (query) => ({ insert: query.insert("users") });'],
    ],
  },
  {
    name: "every value of a query is bound",
    of: (source) => (isRepository(source.path) || roomOf(source.path) === "store" ? unbound(source) : []),
    breaks: [
      ["lib/features/users/repository.ts", bound("sql.raw(p.name)")],
      ["lib/features/users/repository.ts", bound("db.where('name', '=', sql.lit(p.name))")],
      ["lib/store/a.ts", `database.prepare(\`select * from users where name = \${name}\`);`],
      ["lib/store/a.ts", 'database.exec("delete from users where name = " + name);'],
    ],
    keeps: [
      ["lib/features/users/repository.ts", bound(`sql\`name = \${p.name} limit \${sql.lit(20)}\``)],
      ["lib/store/a.ts", `database.prepare("select 1"); database.pragma(\`user_version = \${files.length}\`);`],
    ],
  },
  {
    name: "a LIMIT stands in the text of its query",
    of: (source) =>
      nodes(source.program)
        .filter((node) => node.type === "CallExpression" && node["callee"].property?.name === "limit")
        .filter((node) => isRepository(source.path) && nameOf(node["arguments"][0].callee ?? node) !== "sql.lit")
        .map((node) =>
          said(
            source,
            source.line({ start: node["callee"].property.start }),
            "binds a LIMIT, and SQLite then prepares the statement anew at each call; write .limit(sql.lit(…))",
          ),
        ),
    breaks: [["lib/features/users/repository.ts", bound('db.selectFrom("users").limit(1)')]],
    keeps: [["lib/features/users/repository.ts", bound('db.selectFrom("users").limit(sql.lit(1))')]],
  },
];

/** SQL that is concatenated instead of binding a value. A constant of the file may be part of the text. */
function unbound(source: Source): string[] {
  const constants = source.program["body"]
    .map((node: Node) => (node.type === "ExportNamedDeclaration" ? (node["declaration"] ?? node) : node))
    .flatMap((node: Node) =>
      node.type === "VariableDeclaration" && node["kind"] === "const" ? node["declarations"] : [],
    )
    .map((one: Node) => one["id"].name);
  const isMade = (text: Node | undefined) =>
    (text?.type === "TemplateLiteral" &&
      text["expressions"].some(
        (part: Node) => !constants.includes(nameOf(part)) && !/^(\w+)\.length$/.test(nameOf(part)),
      )) ||
    text?.type === "BinaryExpression";
  return nodes(source.program).flatMap((node) => {
    if (node.type !== "CallExpression") return [];
    const called = nameOf(node["callee"]);
    const [given] = node["arguments"] as Node[];
    const line = source.line(node);
    if (called === "sql.raw") return [said(source, line, "writes a value into the text; let Kysely bind it")];
    if (called === "sql.lit" && given?.type === "MemberExpression")
      return [said(source, line, "writes a parameter into the text; let Kysely bind it")];
    const runs = /\.(prepare|exec|pragma)$/.test(called) && !(given && isFunction(given));
    return runs && isMade(given) ? [said(source, line, "puts a text together; bind the value with ?")] : [];
  });
}
