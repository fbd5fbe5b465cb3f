import { hash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * The limit: the same interface written by hand with only `node:http` and prepared statements, on its own tables with
 * the same facts. It checks the key of each request, sets the same headers, and responds to a write after its commit.
 * All writes of one tick share a commit. The database builds the JSON of records.
 */
export interface LimitStore {
  /** Passes the text of a record to `done`, or undefined if the key or the record is unknown. */
  get(key: string, id: string, done: (text: string | undefined) => void): void;
  /** 21 records at most. */
  list(key: string, done: (records: readonly string[] | undefined) => void): void;
  /** Writes all orders in one transaction and returns their records in the same order. */
  create(orders: readonly Order[], done: (texts: readonly (string | undefined)[]) => void): void;
  close(): unknown;
}

/** A deployment to insert. The texts are those of the record and of the event. */
export interface Order {
  readonly key: string;
  readonly id: string;
  readonly project_id: string;
  readonly environment: string;
  readonly source: string;
  readonly repo: string | null;
  readonly at: string;
  readonly due: string;
  readonly event_id: string;
  readonly event: string;
  readonly job_id: string;
}

let last = 0;
// 26 digits, sorted after all identifiers of `rows.ts`.
const next = (prefix: string) => `${prefix}_02${String(++last).padStart(24, "0")}`;

const day_ms = 86_400_000;
function orderOf(key: string, text: string): Order | undefined {
  const { project_id, environment, source } = JSON.parse(text);
  if (typeof project_id !== "string" || typeof environment !== "string" || typeof source !== "object") return undefined;
  const { type, repo = null, branch = null, tag = null, image_url = null } = source;
  const [id, now] = [next("dep"), Date.now()];
  return {
    key,
    id,
    project_id,
    environment,
    source: JSON.stringify({ type, repo, branch, tag, image_url }),
    repo: repo?.toLowerCase() ?? null,
    at: new Date(now).toISOString(),
    due: new Date(now + day_ms).toISOString(),
    event_id: next("evt"),
    event: JSON.stringify({ deployment_id: id, project_id, environment, version: null }),
    job_id: next("job"),
  };
}

/** The record of a written order. */
export const recordOf = ({ id, project_id, environment, source, at }: Order, created_by: string): string =>
  `{"id":"${id}","project_id":"${project_id}","environment":${JSON.stringify(environment)},"status":"queued","source":${source},"version":null,"created_at":"${at}","updated_at":"${at}","completed_at":null,"created_by":${created_by}}`;

function answer(response: ServerResponse, status: number, body: string, more = ""): void {
  const id = next("req");
  const now = new Date().toISOString();
  const text = `${body.slice(0, -1)},"meta":{"request_id":"${id}","timestamp":"${now}"${more}}}`;
  response.writeHead(status, [
    ...["content-type", "application/json", "cache-control", "no-store", "x-content-type-options", "nosniff"],
    ...["content-length", String(Buffer.byteLength(text)), "x-request-id", id],
    ...["x-ratelimit-limit", "1000", "x-ratelimit-remaining", "999", "x-ratelimit-reset", "1800000000"],
  ]);
  if (status === 201) response.end(text, "latin1");
  else leave(() => response.end(text, "latin1"));
}

let leaving: (() => void)[] | undefined;
/**
 * Responses to reads of one tick leave together, as in the service. Otherwise the limit would be slower than the
 * service.
 */
function leave(send: () => void): void {
  if (leaving) return void leaving.push(send);
  leaving = [];
  setImmediate(() => {
    const all = leaving ?? [];
    leaving = undefined;
    for (const one of all) one();
  });
  send();
}
const refuse = (response: ServerResponse, status: number) => answer(response, status, `{"error":{}}`);

const path = "/v1/deployments";

/** Serves a store and prints the address as `start --json` does. */
export function serveLimit(store: LimitStore): void {
  let waiting: { readonly order: Order; readonly response: ServerResponse }[] = [];
  let isWriting = false;
  let isClosing = false;
  const flush = () => {
    if (isClosing) return;
    const group = waiting;
    waiting = [];
    isWriting = true;
    const written = (texts: readonly (string | undefined)[]) => {
      isWriting = false;
      if (waiting.length > 0) setImmediate(flush);
      for (const [i, { response }] of group.entries()) {
        const text = texts[i];
        if (text) answer(response, 201, text);
        else refuse(response, 422);
      }
    };
    store.create(
      group.map(({ order }) => order),
      written,
    );
  };

  const create = (key: string, text: string, response: ServerResponse) => {
    const order = orderOf(key, text);
    if (!order) return refuse(response, 422);
    if (waiting.push({ order, response }) === 1 && !isWriting) setImmediate(flush);
  };

  const server = createServer((request: IncomingMessage, response) => {
    const key = hash("sha256", request.headers.authorization?.slice("Bearer ".length) ?? "", "hex");
    if (request.method === "POST") {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => create(key, Buffer.concat(chunks).toString(), response));
      return;
    }
    if (request.url?.startsWith(`${path}/`)) {
      store.get(key, request.url.slice(path.length + 1), (text) => {
        if (text === undefined) refuse(response, 404);
        else answer(response, 200, text);
      });
      return;
    }
    store.list(key, (records) => {
      if (!records) return refuse(response, 401);
      // Stands in for the service's opaque cursor, at the same length.
      const cursor = records.length > 20 ? JSON.stringify(records[19]?.slice(7, 37)) : "null";
      const shown = records.length > 20 ? records.slice(0, 20) : records;
      answer(response, 200, `{"data":[${shown.join()}]}`, `,"per_page":20,"next_cursor":${cursor}`);
    });
  });
  server.listen(0, "127.0.0.1", () => {
    const { port } = server.address() as AddressInfo;
    process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`);
  });
  process.on("SIGTERM", async () => {
    isClosing = true;
    server.close();
    server.closeAllConnections();
    await store.close();
    process.exit();
  });
}
