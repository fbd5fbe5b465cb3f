import { inTests, isRepository, roomOf } from "./folders.ts";
import { type Node, nameOf, nodes, type Rule, type Source, said } from "./source.ts";

/** Modules that may use the machine's time and random numbers, each with the names it uses and the reason. */
const machine: Readonly<Record<string, { names: RegExp; because: string }>> = {
  "lib/kernel/node/system.ts": {
    names: /^((node:)?(timers|perf_hooks)|performance\.now)/,
    because: "it is the machine's time",
  },
  "lib/kernel/clock.ts": { names: /^setTimeout$/, because: "it is the source of time" },
  "lib/kernel/random.ts": { names: /^random/, because: "it is the source of chance" },
  "lib/composition/health/event-loop-delay.ts": {
    names: /^(node:)?perf_hooks$/,
    because: "it measures how late the event loop is",
  },
  "lib/jobs/loop.ts": { names: /^set(Timeout|Interval)$/, because: "it sleeps until the next due row" },
  "lib/kernel/timer-watch.ts": {
    names: /^(node:)?timers(\/promises)?$/,
    because: "it watches the timers of the code under test, and sets none",
  },
  "lib/client/send.ts": {
    names: /^(setTimeout|crypto\.getRandomValues)$/,
    because: "its users have no ports of ours, and may pass their own sleep and keys",
  },
  "lib/client/wait.ts": { names: /^setTimeout$/, because: "a time-out of its users is the machine's, as in send" },
  "lib/kernel/node/event-loop.ts": {
    names: /^setImmediate$/,
    because: "the next turn is no time: it waits for nothing",
  },
  "lib/store/sqlite/group-commit.ts": {
    names: /^setImmediate$/,
    because: "the end of a turn is no time: it waits for nothing",
  },
};

const timeOrChance =
  /^(Date\.now|new Date|Date|performance\.(now|timeOrigin)|process\.(hrtime(\.bigint)?|uptime|nextTick)|setTimeout|setInterval|setImmediate|Math\.random|(crypto\.)?(randomUUID|randomBytes|randomInt|randomFill|randomFillSync|getRandomValues))$/;
const clockModules = /^(node:)?(timers|timers\/promises|perf_hooks)$/;

/** Every use of a name, called or passed on. `new Date` with an argument only converts an instant and is left out. */
function* uses(source: Source): Generator<{ name: string; line: number }> {
  for (const node of nodes(source.program, ({ type }) => !type.startsWith("TSType") && !type.startsWith("Import"))) {
    if (node.type === "NewExpression" && node["arguments"].length === 0)
      yield { name: `new ${nameOf(node["callee"])}`, line: source.line(node) };
    if (node.type === "CallExpression" && nameOf(node["callee"]) === "Date")
      yield { name: "Date", line: source.line(node) };
    for (const used of handed(node)) if (nameOf(used) !== "Date") yield { name: nameOf(used), line: source.line(used) };
  }
}

/** The places where a node uses the value of a name: callee, argument, default, initial value, or result of an arrow. */
function handed(node: Node): Node[] {
  const parts = {
    CallExpression: () => [node["callee"], ...node["arguments"]],
    NewExpression: () => [
      ...(node["arguments"].length > 0 && nameOf(node["callee"]) === "Date" ? [] : [node["callee"]]),
      ...node["arguments"],
    ],
    AssignmentPattern: () => [node["right"]],
    AssignmentExpression: () => [node["right"]],
    VariableDeclarator: () => (node["init"] ? [node["init"]] : []),
    ObjectExpression: () => node["properties"].flatMap(({ value }: { value?: Node }) => value ?? []),
    ConditionalExpression: () => [node["consequent"], node["alternate"]],
    LogicalExpression: () => [node["left"], node["right"]],
    ArrowFunctionExpression: () => [node["body"]],
    ReturnStatement: () => (node["argument"] ? [node["argument"]] : []),
  }[node.type];
  return parts ? parts().filter((part: Node) => nameOf(part) !== "") : [];
}

/** Globals that fake timers and the environments of test runners replace. */
const replaced =
  /^(?:new )?(?:globalThis\.)?(set(?:Timeout|Interval|Immediate)|clear(?:Timeout|Interval|Immediate)|performance|AbortController|AbortSignal|Headers|Request|Response|ReadableStream|TextDecoder|TextEncoder)(?:\.|$)/;
/** The client runs in browsers, which have these globals. */
const isForBrowsers = ({ path }: Source) => path.startsWith("lib/client/");
const isTaken = ({ path }: Source) => path === "lib/kernel/node/system.ts" || path === "lib/kernel/node/web.ts";

const clients = /^(node:)?(https|http2|net|tls|dgram|dns|dns\/promises)$|^undici$/;
/** Modules that may open connections, each with the reason. */
const outbound: Readonly<Record<string, string>> = {
  "lib/drivers/outbound/http-request.ts": "the one module that sends HTTP",
  "lib/drivers/outbound/connection-pool.ts": "the agents that hold its connections",
  "lib/drivers/outbound/resolve-host.ts": "the one module that looks addresses up",
  "lib/drivers/outbound/text-records.ts": "looks up the records that prove whose a domain is",
  "lib/client/send.ts": "is handed its fetch",
  "bin/verify/probe.ts": "tries a server as its users do, in a process of its own",
  "lib/platform/proxy/forward.ts":
    "sends requests for apps to their ports on this machine, and those of svc-server record to its upstream",
  "lib/platform/proxy/backend.ts": "the agents that hold connections to apps",
  "lib/platform/containers/engine-api.ts": "speaks to the container engine over its unix socket",
  "lib/platform/runtime/health.ts": "asks an app on this machine whether it is healthy",
  "bin/event-stream.ts": "hears the stream of the service that the person at the keyboard names",
};

const sql =
  /^\s*(select\s[\s\S]*\sfrom\s|insert\s+(or\s+\w+\s+)?into\s|update\s+\w+\s+set\s|delete\s+from\s|(create|drop|alter)\s+(unique\s+)?(table|index)\s|pragma\s|begin\s+immediate|savepoint\s)/i;
const textOf = (node: Node): string | undefined =>
  node.type === "Literal" && typeof node["value"] === "string"
    ? node["value"]
    : node.type === "TemplateLiteral"
      ? node["quasis"].map(({ value }: { value: { cooked: string } }) => value.cooked).join("?")
      : undefined;

/** The parts of node:http that send nothing. */
const harmless = ["createServer", "STATUS_CODES"];

/** Rules 3, 6 and 7 of "Never", as far as calls show. */
export const callRules: readonly Rule[] = [
  {
    name: "SQL is written in store/ and repository.ts alone",
    of: (source) =>
      inTests(source) || roomOf(source.path) === "store" || isRepository(source.path)
        ? []
        : nodes(source.program)
            .filter((node) => sql.test(textOf(node) ?? ""))
            .map((node) => said(source, source.line(node), "writes SQL; put the query into a repository.ts")),
    breaks: [
      ["lib/features/users/service.ts", 'run("select name from users");'],
      ["bin/a.ts", 'run("DELETE FROM users WHERE id = " + id);'],
    ],
    keeps: [
      ["lib/store/a.ts", 'exec("BEGIN IMMEDIATE");'],
      ["lib/features/users/service.ts", 'const text = "update your mail address";'],
    ],
  },
  {
    name: "URLs are parsed by the kernel",
    of: (source) =>
      inTests(source)
        ? []
        : nodes(source.program)
            .filter((node) => nameOf(node) === "URL.canParse")
            .map((node) =>
              said(source, source.line(node), "uses URL.canParse, which errs in Node 20; take kernel/url's parseUrl"),
            ),
    breaks: [["lib/features/users/service.ts", "const ok = URL.canParse(text);"]],
    keeps: [["lib/features/users/service.ts", "const url = parseUrl(text); const other = new URL(text);"]],
  },
  {
    name: "time and chance come from the kernel's ports",
    of: (source) => {
      if (inTests(source)) return [];
      const found = [...uses(source)].filter(
        ({ name }) => timeOrChance.test(name) && !machine[source.path]?.names.test(name),
      );
      const modules = source.imports.filter(
        ({ of, isType }) => clockModules.test(of) && !isType && !machine[source.path]?.names.test(of),
      );
      return [...found, ...modules.map(({ of, line }) => ({ name: `the module ${of}`, line }))].map(({ name, line }) =>
        said(
          source,
          line,
          `uses ${name}; take the Clock, Ids or Random that is handed in, or kernel/clock's systemTimer`,
        ),
      );
    },
    breaks: [
      ["lib/features/users/service.ts", "const at = Date.now();"],
      ["lib/features/users/service.ts", "const at = new Date();"],
      ["lib/features/users/service.ts", "const now = clock ?? Date.now;"],
      ["lib/features/users/service.ts", "globalThis.setTimeout(run, 10);"],
      ["lib/features/users/service.ts", "const a = { pick: () => Math.random() };"],
      ["lib/features/users/service.ts", 'import { randomUUID } from "node:crypto";\nconst id = randomUUID();'],
      [
        "lib/features/users/service.ts",
        'import { randomBytes } from "node:crypto";\nfunction a(bytes = randomBytes) {}',
      ],
      ["bin/a.ts", 'import { setTimeout as sleep } from "node:timers/promises";'],
      ["lib/store/sqlite/group-commit.ts", "setTimeout(flush, 1);"],
      ["lib/store/store.ts", "setImmediate(flush);"],
      ["lib/features/users/service.ts", 'import { monitorEventLoopDelay } from "node:perf_hooks";'],
    ],
    keeps: [
      ["lib/features/users/service.ts", "const at = new Date(clock.now()); const b = Date.parse(text); type D = Date;"],
      ["lib/jobs/loop.ts", "setTimeout(run, 10);"],
    ],
  },
  {
    name: "timers and classes of the web are those of kernel/system and kernel/web, and not the globals",
    of: (source) => {
      if (!source.path.startsWith("lib/") || isForBrowsers(source) || isTaken(source)) return [];
      const taken = source.imports.flatMap(({ of, names }) => (/\/(system|web)\.ts$/.test(of) ? names : []));
      return [...uses(source)].flatMap(({ name, line }) => {
        const [, global = ""] = replaced.exec(name) ?? [];
        return global === "" || taken.includes(global)
          ? []
          : said(source, line, `uses the global ${global}, which test runners replace; import it from lib/kernel`);
      });
    },
    breaks: [
      ["lib/jobs/loop.ts", "setTimeout(run, 10);"],
      ["lib/jobs/loop.ts", 'import { setImmediate } from "../kernel/system.ts";\nclearTimeout(timer);'],
      ["lib/kernel/clock.ts", "globalThis.setTimeout(run, 10);"],
      ["lib/composition/a.ts", "const headers = new Headers();"],
      ["lib/http/a.ts", "const answer = Response.json({});"],
    ],
    keeps: [
      ["lib/jobs/loop.ts", 'import { setTimeout } from "../kernel/system.ts";\nsetTimeout(run, 10);'],
      ["lib/http/a.ts", 'import { Response } from "../kernel/web.ts";\nconst answer = new Response();'],
      ["lib/client/send.ts", "setTimeout(run, 10);"],
    ],
  },
  {
    name: "nothing but drivers/outbound opens a connection",
    of: (source) => {
      if (inTests(source) || source.path in outbound) return [];
      const modules = source.imports.filter(
        ({ of, names, isType }) =>
          !isType &&
          (clients.test(of) || (/^(node:)?http$/.test(of) && names.some((name) => !harmless.includes(name)))),
      );
      const calls = [...uses(source)].filter(({ name }) =>
        /^(fetch|new (WebSocket|EventSource|XMLHttpRequest)|WebSocket|EventSource)$/.test(name),
      );
      return [
        ...modules.map(({ of, line }) =>
          said(source, line, `imports ${of}; send through lib/drivers/outbound/outbound.ts`),
        ),
        ...calls.map(({ name, line }) =>
          said(source, line, `uses ${name}; send through lib/drivers/outbound/outbound.ts`),
        ),
      ];
    },
    breaks: [
      ["lib/features/users/service.ts", 'await fetch("https://example.com");'],
      ["lib/features/users/service.ts", "const send = transport ?? globalThis.fetch;"],
      ["lib/drivers/chat.ts", 'import { request } from "node:http";'],
      ["lib/drivers/chat.ts", 'import http from "node:http";'],
      ["lib/drivers/chat.ts", 'import { connect } from "node:net";'],
      ["lib/http/streams/a.ts", "const socket = new WebSocket(url);"],
    ],
    keeps: [
      [
        "lib/http/server.ts",
        'import { createServer, type Server } from "node:http";\nimport type { AddressInfo } from "node:net";',
      ],
      ["lib/service.ts", "const answer = app.fetch(request); const a = { async fetch(input) {} };"],
      ["lib/client/send.ts", "const send = given ?? fetch;"],
    ],
  },
];
