import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { parseOptions } from "../../lib/config/parse-options.ts";
import type { ProtectionName } from "../../lib/drivers/deployment/protections.ts";
import { createService, type Options } from "../../lib/index.ts";
import { probeMachine } from "../../lib/platform/process/probe.ts";
import { endOf } from "./deployments.ts";
import { repositories } from "./repositories.ts";
import { parse } from "./server-sent-events.ts";
import { around, expect, keyOf, seed, type World } from "./test-service.ts";

const tried = spawnSync("bwrap", ["--unshare-user", "--unshare-pid", "--ro-bind", "/", "/", "true"], {
  encoding: "utf8",
});

/** Why sandbox tests are skipped; false if the sandbox works. */
export const noSandbox: string | false =
  tried.status === 0 ? false : `bubblewrap does not work here: ${tried.stderr || tried.error?.message}`;

/** The protections that the service finds on this machine. */
const found = noSandbox
  ? undefined
  : await (async () => {
      const folder = mkdtempSync(join(tmpdir(), "svc-server-test-"));
      try {
        const { isolation, users, scratch: scratch_bytes } = parseOptions({}).deployments;
        const reach = { ports: [], networks: [] };
        const machine = await probeMachine(folder, { isolation, users, reach, scratch_bytes });
        await machine.close();
        return machine.protections;
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    })();

/** Why tests of a protection are skipped; false if this machine has it. */
export function lacks(name: ProtectionName): string | false {
  if (noSandbox) return noSandbox;
  const { missing } = found?.find((one) => one.name === name) ?? {};
  return missing === undefined ? false : `this machine lacks the part ${name} of the box: ${missing}`;
}

/** A program that answers with its version, or with its environment at `/env`. `/crash` ends it. */
export const server = (version: string) => `
const { createServer } = require("node:http");
console.log("listening as ${version}", process.env.TOKEN ?? "");
createServer((request, response) => {
  if (request.url === "/crash") process.exit(3);
  if (request.url === "/env") return response.end(JSON.stringify(process.env));
  response.end("${version}");
}).listen(process.env.PORT, process.env.HOST);
`;

/** A package with that program. */
export const app = (version: string) => ({
  "package.json": { name: "web", scripts: { start: "node server.js" } },
  "server.js": server(version),
});

/** Calls an app by its host, at the port for apps; returns status and body. */
export const askApp = (
  port: string,
  host: string,
  path = "/",
  {
    method = "GET",
    body,
    address = "127.0.0.1",
    headers = {},
  }: {
    readonly method?: string;
    readonly body?: string;
    readonly address?: string;
    readonly headers?: Readonly<Record<string, string>>;
  } = {},
) =>
  new Promise<string>((resolve, reject) => {
    const asked = request({ host: address, port, path, method, headers: { host, ...headers } }, (response) => {
      let text = `${response.statusCode} `;
      response.on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () => resolve(text));
      // Without a listener, Node says nothing of an answer that is cut off.
      response.on("error", reject);
    });
    asked.on("error", reject).end(body);
  });

export interface Running extends World {
  readonly repos: ReturnType<typeof repositories>;
  /** Deploys the repository acme/web and waits until the deployment ends. */
  // biome-ignore lint/suspicious/noExplicitAny: a test may assert any field
  release(project_id: string, source?: object, environment?: string): Promise<any>;
  /** Calls an app by its host; returns status and body. */
  ask(
    host: string,
    path?: string,
    init?: { method?: string; body?: string; headers?: Readonly<Record<string, string>> },
  ): Promise<string>;
  /** The messages in a deployment's log. */
  messages(id: string): Promise<string[]>;
  /** Waits until the log of the environment production has a matching line. */
  printed(project_id: string, line: RegExp): Promise<string>;
  /** Waits until the log of a deployment has a matching line. */
  logged(id: string, line: RegExp): Promise<string>;
}

/** A service that really runs deployments, with repositories in a folder. */
export async function runtimeWorld(t: TestContext, options: Options = {}): Promise<Running> {
  const repos = repositories(t);
  const service = await createService({
    seed,
    logLevel: "error",
    apps: { port: 0 },
    ...options,
    codeHost: options.codeHost ?? { repos: repos.root },
    deployments: { runtime: "process", isolation: noSandbox ? "none" : "bubblewrap", ...options.deployments },
  });
  t.after(() => service.close());
  const world = around(service);
  return { ...world, repos, ...callsOf(world) };
}

function callsOf({ service, call, deploy }: World): Omit<Running, keyof World | "repos"> {
  const { port } = new URL(service.appsUrl ?? "http://none");
  const follow = async (path: string, line: RegExp) => {
    const stream = await service.fetch(`${path}/logs?follow=true`, {
      headers: { authorization: `Bearer ${keyOf("owner")}` },
    });
    let text = "";
    for await (const chunk of stream.body as unknown as AsyncIterable<Uint8Array>) {
      text += Buffer.from(chunk).toString();
      const end = text.lastIndexOf("\n\n") + 1;
      const seen = parse(text.slice(0, end));
      text = text.slice(end);
      const found = seen.find(({ data }) => line.test(data.message));
      if (found) return found.data.message;
    }
    throw new Error(`the log ended without ${line}`);
  };
  return {
    async release(project_id, source = {}, environment = "production") {
      const { id } = await deploy(project_id, { environment, source: { type: "git", repo: "acme/web", ...source } });
      return endOf({ call }, "developer", id);
    },
    ask: (host, path, init) => askApp(port, host, path, init),
    async messages(id) {
      const { data } = expect(await call("viewer", "GET", `/v1/deployments/${id}/logs`), 200);
      return data.map(({ message }: { message: string }) => message);
    },
    printed: (project_id, line) => follow(`/v1/projects/${project_id}/environments/production`, line),
    logged: (id, line) => follow(`/v1/deployments/${id}`, line),
  };
}

const processesBy = (file: "cmdline" | "environ", text: string): string[] =>
  readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/${file}`, "latin1").includes(text);
    } catch {
      return false;
    }
  });

/** The ids of processes whose command line contains a text. */
export const processesWith = (text: string): string[] => processesBy("cmdline", text);

/** The ids of processes that belong to a deployment. */
export const processesOf = (deployment_id: string): string[] => processesBy("environ", deployment_id);
