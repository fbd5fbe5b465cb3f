import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { type Figure, figure, type Goal } from "./figures.ts";
import type { Asked } from "./load.ts";
import { pin, processorOf } from "./processors.ts";
import { source } from "./request-body.ts";
import {
  type Bench,
  createLoad,
  inTurns,
  type Load,
  type Measured,
  type Rows,
  ratios,
  requests,
  type Server,
  start,
} from "./servers.ts";

/** Alternatives with the same rows. Each is called by its own interface, and checks less than this service. */
interface Peer {
  readonly name: string;
  readonly package: string;
  /** The peer's command line; throws if a requirement is missing. */
  words(port: number): string[];
  readonly headers?: Readonly<Record<string, string>>;
  /** The peer's requests, each with the request of this service to compare with. */
  readonly tasks: readonly (readonly [ours: keyof typeof requests, asked: readonly Asked[], goal: Goal])[];
}

interface Row {
  readonly id: string;
}

function peersOf(folder: string, rows: Rows, sample: Row, postgres: string): Peer[] {
  const [id = ""] = rows.ids;
  const file = join(folder, "json-server.json");
  const list = "/deployments?_page=1&_per_page=20";
  const order = { project_id: rows.project_id, environment: "production", source };
  return [
    {
      name: "json-server",
      package: "json-server",
      words(port) {
        writeFileSync(file, JSON.stringify({ deployments: rows.ids.map((id) => ({ ...sample, id })) }));
        return [file, "--port", String(port)];
      },
      tasks: [
        ["get", rows.ids.map((id) => ({ path: `/deployments/${id}` })), { floor: 1, aim: 3 }],
        ["list", [{ path: list }], { floor: 1, aim: 4 }],
      ],
    },
    {
      name: "prism",
      package: "@stoplight/prism-cli",
      words: (port) => {
        const document = resolve(import.meta.dirname, "../../schema/openapi.json");
        return ["mock", document, "--port", String(port), "--verboseLevel", "silent"];
      },
      tasks: [["get", [{ path: `/deployments/${id}` }], { floor: 1, aim: 8 }]],
    },
    {
      name: "parse-server",
      package: "parse-server",
      words(port) {
        if (postgres === "") throw new Error("it needs a PostgreSQL, named with --postgres postgres://…");
        const serverUrl = `http://127.0.0.1:${port}/parse`;
        return [
          ...["--appId", "bench", "--masterKey", "bench", "--databaseURI", postgres, "--serverURL", serverUrl],
          ...["--port", String(port), "--allowClientClassCreation", "true", "--silent"],
        ];
      },
      headers: { "x-parse-application-id": "bench" },
      tasks: [["post", [{ path: "/parse/classes/Deployment", body: order }], { floor: 1, aim: 10 }]],
    },
  ];
}

async function freePort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** Starts a peer and waits until it responds to the requests of the bench. */
async function launch(peer: Peer, folder: string, key: string): Promise<Server> {
  const home = join(folder, "node_modules", peer.package);
  if (!existsSync(home)) throw new Error(`there is none in ${folder}`);
  const { bin } = JSON.parse(readFileSync(join(home, "package.json"), "utf8")) as { bin: Record<string, string> };
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const words = [join(home, Object.values(bin)[0] ?? ""), ...peer.words(port)];
  const child = spawn(process.execPath, words, { stdio: "ignore", cwd: folder });
  pin(child, "servers");
  const gone = once(child, "exit");
  const end = () => {
    child.kill("SIGKILL");
    return gone;
  };
  const [[, [first]] = [undefined, []]] = peer.tasks;
  for (let i = 0; i < 300 && child.exitCode === null; i++) {
    await wait(100);
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json", ...peer.headers };
    const post = first?.body && { method: "POST", body: JSON.stringify(first.body) };
    const answer = await fetch(url + (first?.path ?? "/"), { headers, ...post }).catch(() => undefined);
    await answer?.arrayBuffer();
    if (answer?.ok) return { name: peer.name, url, cpu: async () => processorOf(child.pid), end };
  }
  await end();
  throw new Error("it does not answer");
}

async function compare(bench: Bench, load: Load, ours: Server, theirs: Server, peer: Peer, rows: Rows) {
  const figures: Figure[] = [];
  for (const [key, asked, goal] of peer.tasks) {
    const [mine = [], their = []] = await inTurns(bench, load, [
      [ours, { requests: requests[key](rows), keys: [rows.key] }],
      [theirs, { requests: asked, keys: [rows.key], ...(peer.headers && { headers: peer.headers }) }],
    ]);
    const name = `${{ get: "GET by id", list: "GET the list of 20", post: "POST a deployment", mix: "" }[key]}: ${peer.name}`;
    const of = (part: keyof Measured) => their.map((one) => one[part]);
    figures.push(
      figure(name, "a second", of("per_second")),
      figure(`${name}: how many times as many we answer`, "×", ratios(mine, their, "per_second", "more")),
    );
    // Other load on the machine slows both, so the comparison uses processor time where it is known.
    if (of("cpu_us").every(Number.isFinite))
      figures.push(figure(`${name}: ratio, processor`, "×", ratios(mine, their, "cpu_us", "less"), goal));
  }
  return figures;
}

/** Compares with the peers installed in `installed`; prints a line for each missing peer. */
export async function besidePeers(bench: Bench, rows: Rows, installed: string, postgres: string): Promise<Figure[]> {
  const load = createLoad(bench);
  const ours = await start(bench, rows, "beside-peers");
  const answer = await fetch(`${ours.url}/v1/deployments/${rows.ids[0]}`, {
    headers: { authorization: `Bearer ${rows.key}` },
  });
  const { meta: _, ...sample } = (await answer.json()) as Row & { meta: unknown };
  const figures: Figure[] = [];
  for (const peer of peersOf(bench.folder, rows, sample, postgres)) {
    try {
      const theirs = await launch(peer, resolve(installed), rows.key);
      figures.push(...(await compare(bench, load, ours, theirs, peer, rows).finally(theirs.end)));
    } catch (error) {
      process.stderr.write(`${peer.name} is not measured: ${(error as Error).message}\n`);
    }
  }
  await Promise.all([load.end(), ours.end()]);
  return figures;
}
