import { existsSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { simulatedDeployments } from "../../lib/drivers/deployment/simulated.ts";
import type { SimulatedOutcome } from "../../lib/index.ts";
import { createProcessRuntime } from "../../lib/platform/process/process.ts";
import { createRuntimeDriver } from "../../lib/platform/runtime/driver.ts";
import { temporaryFolder } from "../helpers/program.ts";
import { type Files, repositories } from "../helpers/repositories.ts";
import { noSandbox, processesOf } from "../helpers/running-apps.ts";
import { conformance } from "./conformance.ts";
import type { Kind, Member } from "./member.ts";

const git = (branch: string) => ({ type: "git", repo: "acme/web", branch, tag: null, image_url: null }) as const;

const outcomes: Partial<Record<Kind, SimulatedOutcome>> = {
  works: {},
  buildFails: { result: "fail", logs: [{ level: "info", message: "begun" }] },
  startFails: { result: "rolled_back" },
};

conformance({
  name: "simulated",
  skip: false,
  runs: false,
  make: (): Member => ({
    open: () => simulatedDeployments(({ source }) => outcomes[source.branch as Kind]),
    source: (kind) => (kind in outcomes ? git(kind) : undefined),
    traces: () => [],
  }),
});

const program = (version: string) => `
const { createServer } = require("node:http");
let waiting;
createServer((request, response) => {
  if (request.url === "/crash") process.exit(3);
  if (request.url === "/slow") return console.log("slow"), (waiting = response);
  response.end("${version}");
  waiting?.end("${version}");
}).listen(process.env.PORT, process.env.HOST, () => console.log("listening as ${version}"));
`;

const hangs = "exec sleep 4243";
const filesOf: Readonly<Record<Kind, (version: string) => Files>> = {
  works: (version) => ({ "svc.json": { start: "node server.js" }, "server.js": program(version) }),
  prints: () => ({
    "svc.json": { build: `seq -f 'line %g' 0 2999; echo "the token is $TOKEN"`, static: "." },
    "index.html": "",
  }),
  buildFails: () => ({ "svc.json": { build: "echo begun; exit 7", static: "." } }),
  buildHangs: () => ({ "svc.json": { build: `echo begun; ${hangs}`, static: "." } }),
  startFails: () => ({ "svc.json": { start: "exit 4" } }),
  startHangs: () => ({ "svc.json": { start: hangs } }),
};

function processMember(t: TestContext, isolation: "bubblewrap" | "none"): Member {
  const folder = temporaryFolder(t);
  const repos = repositories(t);
  const limits = { timeout_ms: 60_000, memory_bytes: 2 ** 30, disk_bytes: 2 ** 30 };
  return {
    open: () =>
      createRuntimeDriver([
        createProcessRuntime(folder, {
          users: { first: 1_879_048_192, count: 65_536 },
          reach: { ports: [], networks: [] },
          isolation,
          limits,
          codeHost: { url: "", repos: repos.root },
          appMemory_bytes: 2 ** 30,
          healthTimeout_ms: 60_000,
          dataLimit_bytes: 1024 ** 3,
          scratch_bytes: 2 ** 20,
        }),
      ]),
    source(kind, version = "one") {
      repos.commit(`acme/${kind}`, filesOf[kind](version));
      return { ...git("main"), repo: `acme/${kind}` };
    },
    traces: (id) => [...processesOf(id), ...[join(folder, "releases", id)].filter((path) => existsSync(path))],
  };
}

conformance({ name: "process", skip: noSandbox, runs: true, make: (t) => processMember(t, "bubblewrap") });
const skip = !noSandbox && process.env["TEST_LONG"] === undefined && "the long form only: TEST_LONG=1";
conformance({ name: "process without isolation", skip, runs: true, make: (t) => processMember(t, "none") });
