import { inTests } from "./folders.ts";
import { isFunction, type Node, nameOf, nodes, type Rule, type Source, said } from "./source.ts";

const longestFile = 250;
const longestFunction = 70;

/** A function's own lines: those of the functions inside it are counted there. */
function ownLines(source: Source, node: Node): number {
  let lines = source.line({ start: node.end }) - source.line(node) + 1;
  for (const inner of nodes(node, (one) => one === node || !isFunction(one))) {
    // A function that ends on the line where it began leaves that line to whom it is in.
    if (inner !== node && isFunction(inner)) lines -= source.line({ start: inner.end }) - source.line(inner);
  }
  return lines;
}

const repeat = (line: string, times: number) => Array(times).fill(line).join("\n");

/** Rule 8 of "Never". */
export const limitRules: readonly Rule[] = [
  {
    name: `no file is longer than ${longestFile} lines`,
    of: (source) => {
      const lines = source.text.replace(/\n$/, "").split("\n").length;
      const over = `has ${lines} lines; move one concept of it into a file of its own (${longestFile} at most)`;
      return lines > longestFile ? [said(source, lines, over)] : [];
    },
    breaks: [["lib/a.ts", repeat("run();", 251)]],
    keeps: [["test/a.ts", `${repeat("run();", 250)}\n`]],
  },
  {
    name: `no function has more than ${longestFunction} lines of its own`,
    of: (source) =>
      [...nodes(source.program)]
        .filter(isFunction)
        .map((node) => ({ line: source.line(node), lines: ownLines(source, node) }))
        .filter(({ lines }) => lines > longestFunction)
        .map(({ line, lines }) =>
          said(
            source,
            line,
            `begins a function of ${lines} lines of its own; take out a part that has a name (${longestFunction} at most)`,
          ),
        ),
    breaks: [
      ["lib/a.ts", `function a() {\n${repeat("run();", 70)}\n}`],
      ["lib/a.ts", `export const a = () => {\nconst b = () => {\nrun();\n};\n${repeat("run();", 69)}\n};`],
    ],
    keeps: [["lib/a.ts", `function a() {\nconst b = () => {\n${repeat("run();", 60)}\n};\n${repeat("run();", 60)}\n}`]],
  },
  {
    name: "nothing in lib or bin is any",
    of: (source) =>
      inTests(source)
        ? []
        : [...nodes(source.program)]
            .filter(({ type }) => type === "TSAnyKeyword")
            .map((node) =>
              said(source, source.line(node), "says any; say unknown, and let a schema or a check tell what it is"),
            ),
    breaks: [
      ["lib/a.ts", "export const a = (b: any) => b;"],
      ["bin/a.ts", "const a = b as any;"],
    ],
    keeps: [["lib/a.ts", "export const any = (b: unknown) => b;"]],
  },
  {
    name: "what comes from outside is checked by a schema, and not cast",
    of: (source) =>
      inTests(source) || ownRows.test(source.path)
        ? []
        : [...nodes(source.program)]
            .filter((node) => node.type === "TSAsExpression" && !isConst(node) && isOutside(node["expression"]))
            .map((node) =>
              said(
                source,
                source.line(node),
                "casts input from outside; parse it with a valibot schema, as check() in kernel/validation does",
              ),
            ),
    breaks: [
      ["lib/control/a.ts", "const a = JSON.parse(text) as { b: string };"],
      ["lib/client.ts", "const a = (await response.json()) as Project;"],
      ["bin/a.ts", "const port = process.env.PORT as string;"],
    ],
    keeps: [
      ["lib/users/service.ts", "const a = JSON.parse(row.scopes) as string[];"],
      ["lib/control/a.ts", "const a: unknown = JSON.parse(text); const b = [1] as const;"],
    ],
  },
];

/** These read back what the same release wrote, columns and its package.json: checking that again would guard nothing. */
const ownRows =
  /^lib\/(store\/.*|kernel\/version|http\/idempotency|[a-z]+\/(service|rollout|progress|runner|repository|outbox))\.ts$/;
const isConst = (node: Node) => nameOf(node["typeAnnotation"]["typeName"] ?? node) === "const";

function isOutside(node: Node): boolean {
  if (node.type === "AwaitExpression" || node.type === "ParenthesizedExpression")
    return isOutside(node["argument"] ?? node["expression"]);
  if (node.type === "TSAsExpression") return isOutside(node["expression"]);
  if (node.type === "MemberExpression") return nameOf(node["object"]) === "process.env";
  if (node.type !== "CallExpression") return false;
  const { callee } = node as Node & { callee: Node };
  return nameOf(callee) === "JSON.parse" || (callee.type === "MemberExpression" && callee["property"].name === "json");
}
