import { inTests } from "./folders.ts";
import { isFunction, type Node, nameOf, nodes, type Rule, type Source, said } from "./source.ts";

const longestFile = 250;
const longestFunction = 70;

/** Functions that are measured without the functions inside them although they are no service, each with its reason. */
const exceptions: Readonly<Record<string, string>> = {
  "lib/drivers/generation/openai.ts openaiImages":
    "a driver is a service: its functions share the settings of one backend",
  "lib/http/server-sent-events.ts eventStream": "the functions of one stream share its queue, its timers and its end",
};

/** The name of each function that has one: by its declaration, its constant or its property. A test's body is a suite. */
function namesOf(source: Source): Map<Node, string> {
  const names = new Map<Node, string>();
  for (const node of nodes(source.program)) {
    if (node.type === "FunctionDeclaration" && node["id"]) names.set(node, nameOf(node["id"]));
    if (node.type === "VariableDeclarator" && node["init"]) names.set(node["init"], nameOf(node["id"]));
    if (node.type === "Property") names.set(node["value"], nameOf(node["key"]));
    if (inTests(source) && node.type === "CallExpression" && /^(test|t\.test|describe)$/.test(nameOf(node["callee"])))
      for (const given of node["arguments"]) if (isFunction(given)) names.set(given, "suite");
  }
  return names;
}

/** A closure over its ports, whose functions are measured one by one; so are the tests of a suite. */
const isService = (name: string) => /^(create[A-Z].*|suite|.*(Service|Repository))$/.test(name);

const wholeLines = (source: Source, node: Node) => source.line({ start: node.end }) - source.line(node) + 1;

/** The lines of a service without those of the functions inside it. */
function ownLines(source: Source, node: Node): number {
  let lines = wholeLines(source, node);
  for (const inner of nodes(node, (one) => one === node || !isFunction(one))) {
    // The line on which a function both starts and ends stays with the service.
    if (inner !== node && isFunction(inner)) lines -= wholeLines(source, inner) - 1;
  }
  return lines;
}

interface Measured {
  /** Its file and name, as the list of exceptions has it. */
  readonly place: string;
  readonly line: number;
  /** What counts: of a service its own lines, of any other function all of them. */
  readonly lines: number;
  readonly whole: number;
}

function measure(source: Source): Measured[] {
  const names = namesOf(source);
  return nodes(source.program)
    .filter(isFunction)
    .map((node) => {
      const name = names.get(node) ?? "";
      const place = `${source.path} ${name}`;
      const whole = wholeLines(source, node);
      const lines = isService(name) || place in exceptions ? ownLines(source, node) : whole;
      return { place, line: source.line(node), lines, whole };
    });
}

/** The exceptions that no function needs any more. */
export function outlived(all: readonly Source[]): string[] {
  const long = new Set(all.flatMap(measure).flatMap(({ place, whole }) => (whole > longestFunction ? [place] : [])));
  return Object.keys(exceptions).filter((place) => !long.has(place));
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
    name: `no function is longer than ${longestFunction} lines; the functions of a service are measured one by one`,
    of: (source) =>
      measure(source)
        .filter(({ lines }) => lines > longestFunction)
        .map(({ line, lines }) =>
          said(
            source,
            line,
            `starts a function of ${lines} lines; move a part that has a name out of it (${longestFunction} at most)`,
          ),
        ),
    breaks: [
      ["lib/a.ts", `function a() {\n${repeat("run();", 70)}\n}`],
      ["lib/a.ts", `function a() {\nconst b = () => {\n${repeat("run();", 60)}\n};\n${repeat("run();", 10)}\n}`],
      ["lib/a.ts", `export const createA = () => {\nconst b = () => {\nrun();\n};\n${repeat("run();", 69)}\n};`],
      ["lib/a.ts", `function createA() {\nconst b = () => {\n${repeat("run();", 70)}\n};\n}`],
      ["test/a.ts", `test("a", () => {\n${repeat("run();", 70)}\n});`],
    ],
    keeps: [
      ["lib/a.ts", `function createA() {\nconst b = () => {\n${repeat("run();", 60)}\n};\n${repeat("run();", 60)}\n}`],
      ["test/a.ts", `test("a", () => {\ntest("b", () => {\n${repeat("run();", 60)}\n});\n${repeat("run();", 60)}\n});`],
    ],
  },
  {
    name: "nothing in lib or bin is any",
    of: (source) =>
      inTests(source)
        ? []
        : nodes(source.program)
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
        : nodes(source.program)
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

/** These read values that the same release wrote, columns and its package.json: another check would add nothing. */
const ownRows =
  /^lib\/(store\/.*|kernel\/version|http\/idempotency|[a-z]+\/(service|sessions|identities|rollout|stored-releases|progress|runner|repository|outbox))\.ts$/;
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
