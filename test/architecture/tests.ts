import { inTests } from "./folders.ts";
import { isFunction, type Node, nameOf, nodes, type Rule, type Source, said } from "./source.ts";

/** Files beside the tests that measure time or kill processes at random moments, so they read a clock. */
const measures = /^test\/(bench|crash)\//;
const isTest = (source: Source) => inTests(source) && !measures.test(source.path);
/** Their timers are those of a test runner, which move with the clock of the service. */
const haveFakeTimers = /^test\/embed\/(timers|advance-until)\.test\.ts$/;
const waits = /^(setTimeout|setInterval|sleep|delay|Atomics\.wait)$/;
const waitModules = /^(node:)?timers\/promises$/;

/** Calls whose result arrives by itself: an event, or the next part of a stream. */
const events = /^(once|next|read)$/;
/** A promise that other code resolves: `new Promise((resolve) => { heard = resolve; })`. */
const isReport = (node: Node) =>
  node.type === "NewExpression" && nodes(node).some((one) => one.type === "AssignmentExpression");
const namesIn = (node: Node | null | undefined) =>
  new Set(node ? nodes(node).flatMap((one) => (one.type === "Identifier" ? [String(one["name"])] : [])) : []);

/** Unbounded loops that await something other than an event: `while (!done) await ask()`, `while (await busy());`. */
function spins(node: Node): boolean {
  const { type, update } = node;
  if (!/^(Do)?WhileStatement$/.test(type) && (type !== "ForStatement" || update)) return false;
  const tested = namesIn(node["test"]);
  const own = nodes(node, (one) => !isFunction(one));
  // `while (sent < 20) { sent++; … }` and loops over the pages of a list are bounded.
  const isCounted = own.some((one) => one.type === "UpdateExpression" && tested.has(nameOf(one["argument"])));
  if (isCounted || namesIn(node).has("next_cursor")) return false;
  const isEvent = (one: Node) =>
    one.type === "CallExpression" && events.test(one["callee"].property?.name ?? nameOf(one["callee"]));
  const awaited = own.filter((one) => one.type === "AwaitExpression");
  return (
    awaited.length > 0 && !awaited.some(({ argument }) => nodes(argument).some((one) => isEvent(one) || isReport(one)))
  );
}

/** `port: 7400`, `listen(7400)` and `"--port", "7400"`: any port but 0. */
function ports(source: Source): Node[] {
  const isPort = (node: Node | undefined) =>
    node?.type === "Literal" && /^[1-9]\d*$/.test(String(node["value"])) && Number(node["value"]) < 65_536;
  return nodes(source.program).flatMap((node): Node[] => {
    if (node.type === "Property" && node["key"].name === "port") return isPort(node["value"]) ? [node] : [];
    if (node.type === "CallExpression" && node["callee"].property?.name === "listen")
      return isPort(node["arguments"][0]) ? [node] : [];
    if (node.type !== "ArrayExpression") return [];
    return node["elements"].filter(
      (one: Node, i: number) => isPort(one) && ["--port", "-p"].includes(node["elements"][i - 1]?.value),
    );
  });
}

/** Rule 10 of "Never". */
export const testRules: readonly Rule[] = [
  {
    name: "a test never sleeps and never waits for real",
    of: (source) =>
      isTest(source) && !haveFakeTimers.test(source.path)
        ? [
            ...nodes(source.program)
              .filter((node) => node.type === "CallExpression" && waits.test(nameOf(node["callee"])))
              .map(source.line),
            ...source.imports.filter(({ of }) => waitModules.test(of)).map(({ line }) => line),
          ].map((line) => said(source, line, "waits for real; move the manual clock, or await what is waited for"))
        : [],
    breaks: [
      ["test/a.test.ts", "await new Promise((go) => setTimeout(go, 50));"],
      ["test/a.test.ts", 'import { setTimeout as wait } from "node:timers/promises";'],
    ],
    keeps: [
      ["test/a.test.ts", 'await service.clock.advance("2h"); await new Promise((go) => setImmediate(go));'],
      ["test/bench/a.ts", "setTimeout(end, 500);"],
    ],
  },
  {
    name: "a test never spins until something happens",
    of: (source) =>
      isTest(source)
        ? nodes(source.program)
            .filter(spins)
            .map((node) =>
              said(
                source,
                source.line(node),
                "spins; await the event, count the turns, or ask with until() of test/helpers/until.ts",
              ),
            )
        : [],
    breaks: [
      ["test/a.test.ts", "while (!done) await turn();"],
      ["test/a.test.ts", "for (;;) { if (done) break; await new Promise((go) => setImmediate(go)); }"],
      ["test/a.test.ts", 'while ((await client.get()).status === "queued");'],
      ["test/a.test.ts", "do await turn(); while (!done);"],
      ["test/a.test.ts", "while (cached().length > 0) await here.ask(host);"],
      ["test/a.test.ts", 'while ((await left()) > 1) await call("GET", "/v1/me");'],
      ["test/a.test.ts", "while (!over) { count++; await here.send(); }"],
    ],
    keeps: [
      ["test/a.test.ts", 'while (told.length < 2) await once(socket, "message");'],
      ["test/a.test.ts", "while (text.length < 2) text += (await stream.next()).value;"],
      ["test/a.test.ts", "while (!told) await new Promise((go) => { heard = go; });"],
      ["test/a.test.ts", "while (made < 20) { made++; await one(); }"],
      ["test/a.test.ts", "do { cursor = (await list(cursor)).meta.next_cursor; } while (cursor);"],
      ["test/a.test.ts", "for (let i = 0; i < 20; i++) await turn();"],
      ["test/a.test.ts", "await until(() => isGone(one), () => here.ask(host));"],
      ["test/bench/a.ts", "while (!done) await turn();"],
    ],
  },
  {
    name: "a test never takes a port other than 0",
    of: (source) =>
      inTests(source)
        ? ports(source).map((node) =>
            said(source, source.line(node), "takes a fixed port; take 0 and read the url that was given"),
          )
        : [],
    breaks: [
      ["test/a.test.ts", "await service.listen({ port: 7400 });"],
      ["test/a.test.ts", "server.listen(7400);"],
      ["test/a.test.ts", 'run(["dev", "--port", "7400"]);'],
    ],
    keeps: [["test/a.test.ts", 'await service.listen({ port: 0 }); server.listen(0); run(["--port", "0"]);']],
  },
  {
    name: "a test never depends on another, and none is left out",
    of: (source) =>
      isTest(source) && source.path.endsWith(".test.ts")
        ? [
            ...source.program["body"]
              .filter((node: Node) => node.type === "VariableDeclaration" && node["kind"] === "let")
              .map((node: Node) =>
                said(source, source.line(node), "keeps a variable between tests; let each test make what it needs"),
              ),
            ...nodes(source.program)
              .filter((node) => /^(test|it|describe|t\.test)\.(only|skip|todo)$/.test(nameOf(node)))
              .map((node) => said(source, source.line(node), "runs some tests and not others; let all run")),
          ]
        : [],
    breaks: [
      ["test/a.test.ts", "let last;\ntest('one', () => { last = 1; });"],
      ["test/a.test.ts", "test.only('one', () => {});"],
    ],
    keeps: [["test/a.test.ts", "const seed = {};\ntest('one', () => { let a = 1; });"]],
  },
];
