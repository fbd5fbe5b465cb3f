import { featureOf, fileOf, inLib } from "./folders.ts";
import { isFunction, type Node, nameOf, nodes, type Rule, type Source, said } from "./source.ts";

const decides = [
  "ConditionalExpression",
  "LogicalExpression",
  "IfStatement",
  "SwitchStatement",
  "BlockStatement",
  "SequenceExpression",
];

/** The functions of a declaration that may only call the service: `run`, and a job's `exhausted`. */
function* runs(source: Source): Generator<{ name: string; line: number; body: Node }> {
  for (const node of nodes(source.program)) {
    const name = node.type === "Property" ? node["key"].name : "";
    if ((name === "run" || name === "exhausted") && isFunction(node["value"]))
      yield { name, line: source.line(node), body: node["value"].body };
  }
}

const operation = (run: string) => `export const all = [operation({ id: "users.get", run: ${run} })];`;

/** Rule 5 of "Never", as far as declarations show. */
export const declarationRules: readonly Rule[] = [
  {
    name: "operations.ts and jobs.ts have one expression in run, and decide nothing",
    of: (source) =>
      /^(operations|jobs)$/.test(fileOf(source.path)) && featureOf(source.path) !== ""
        ? [...runs(source)]
            .filter(
              ({ body }) => body.type !== "CallExpression" || nodes(body).some(({ type }) => decides.includes(type)),
            )
            .map(({ name, line }) =>
              said(source, line, `decides in ${name}; let it be one call of the service, and decide there`),
            )
        : [],
    breaks: [
      [
        "lib/features/users/operations.ts",
        operation("async ({ params }, { users }) => { return users.get(params.id); }"),
      ],
      [
        "lib/features/users/operations.ts",
        operation("({ params }, { users }) => params.id ? users.get(params.id) : users.all()"),
      ],
      ["lib/features/users/operations.ts", operation('({ query }, { users }) => users.get(query.id ?? "me")')],
      ["lib/features/users/jobs.ts", "job({ async run() { await work(); } });"],
    ],
    keeps: [
      [
        "lib/features/users/operations.ts",
        operation("({ params }, { users }, caller) => users.get(caller, params.id)"),
      ],
    ],
  },
];

/** The codes of every operation, and those of only `lib/http` and the links to files. */
const general = new Set([
  ...[
    "unauthorized",
    "insufficient_role",
    "insufficient_scope",
    "rate_limited",
    "misdirected_request",
    "internal_error",
  ],
  ...[
    "unavailable",
    "invalid_json",
    "body_too_large",
    "unsupported_media_type",
    "validation_failed",
    "idempotency_mismatch",
  ],
  ...["not_found", "method_not_allowed"],
  ...["link_expired", "range_not_satisfiable"],
]);

/** The codes of `new Problem("…")` under lib, each with the first place that throws it. */
function thrown(all: readonly Source[]): Map<string, string> {
  const codes = new Map<string, string>();
  for (const source of all.filter(inLib)) {
    for (const node of nodes(source.program)) {
      if (node.type !== "NewExpression" || nameOf(node["callee"]) !== "Problem") continue;
      const code = node["arguments"][0]?.value;
      if (typeof code === "string" && !codes.has(code)) codes.set(code, `${source.path}:${source.line(node)}`);
    }
  }
  return codes;
}

/** The codes that operations declare, each with the first place that declares it. */
function declared(all: readonly Source[]): Map<string, string> {
  const codes = new Map<string, string>();
  for (const source of all.filter(({ path }) => inLib({ path } as Source) && fileOf(path) === "operations")) {
    for (const node of nodes(source.program)) {
      if (node.type !== "Property" || node["key"].name !== "problems") continue;
      for (const { value } of node["value"].elements ?? [])
        if (!codes.has(value)) codes.set(value, `${source.path}:${source.line(node)}`);
    }
  }
  return codes;
}

/** Rule 9 of "Never", over all files: every thrown code is declared, and every declared code can be thrown. */
export function undeclared(all: readonly Source[]): string[] {
  const may = declared(all);
  const does = thrown(all);
  return [
    ...[...does]
      .filter(([code]) => !may.has(code) && !general.has(code))
      .map(
        ([code, at]) =>
          `${at} throws ${code}, which no operation declares; add it to the problems of those that lead here`,
      ),
    ...[...may]
      .filter(([code]) => !does.has(code) && !general.has(code))
      .map(([code, at]) => `${at} declares ${code}, which nothing throws; leave it out`),
  ];
}
