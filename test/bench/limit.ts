import { hash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import Database from "better-sqlite3";
import { serve } from "./server.ts";

/**
 * The limit: the same work written by hand on the same tables, with `node:http` and prepared statements only. It checks
 * the key and the body, sets the headers, does five writes, adds a job for the first of a queue, and responds after a
 * durable commit. `each` commits every request, `group` all requests of one tick. It avoids known slow forms: rows as
 * objects, spread objects, headers as an object.
 */
const [file = "", mode = "each"] = process.argv.slice(2);
const db = new Database(file);
for (const pragma of ["journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "temp_store = MEMORY"])
  db.pragma(pragma);

const columns = "id, project_id, environment, status, version, created_at, updated_at, completed_at, deployed_at";
const statement = {
  key: db.prepare(
    "select k.id, k.organization_id, k.scopes, u.role, u.status from api_keys k join users u on u.id = k.user_id where k.hash = ?",
  ),
  get: db.prepare(`select ${columns}, source from deployments where id = ? and organization_id = ?`).raw(),
  list: db.prepare(`select ${columns} from deployments where organization_id = ? order by id desc limit 21`).raw(),
  project: db.prepare("select status from projects where id = ? and organization_id = ?"),
  environment: db.prepare(
    "insert into environments (project_id, name, variables) values (?, ?, '{}') on conflict do nothing",
  ),
  deployment: db.prepare(
    "insert into deployments (id, organization_id, project_id, environment, status, source, repo, ready_at, created_at, updated_at, step_at, log_entries, log_bytes) values (?, ?, ?, ?, 'queued', ?, ?, ?, ?, ?, ?, 1, 6)",
  ),
  log: db.prepare("insert into deployment_logs values (?, 0, ?, ?, 'info', 'Queued')"),
  subscribers: db.prepare("select id, events from endpoints where organization_id = ? and status = 'active'"),
  event: db.prepare("insert into events values (?, ?, 'deployment.queued', ?, ?)"),
  job: db.prepare("insert into jobs values (?, 'deployments.turn', '{}', 'waiting', ?, 0, 0, 0, null, null, 0)"),
  queued: db.prepare(
    "select 1 from deployments where status = 'queued' and project_id = ? and environment = ? limit 1",
  ),
  begin: db.prepare("begin immediate"),
  commit: db.prepare("commit"),
  savepoint: db.prepare("savepoint member"),
  release: db.prepare("release member"),
};

interface Key {
  readonly organization_id: string;
  readonly role: string;
  readonly status: string;
}
type Row = readonly (string | null)[];

let last = 0;
const next = (prefix: string) => `${prefix}_02${String(++last).padStart(24, "0")}`;
const now = () => new Date().toISOString();

function answer(response: ServerResponse, status: number, body: string, more = ""): void {
  const id = next("req");
  const text = `${body.slice(0, -1)},"meta":{"request_id":"${id}","timestamp":"${now()}"${more}}}`;
  response.writeHead(status, [
    ...["content-type", "application/json", "cache-control", "no-store", "x-content-type-options", "nosniff"],
    ...["content-length", String(Buffer.byteLength(text)), "x-request-id", id],
    ...["x-ratelimit-limit", "1000", "x-ratelimit-remaining", "999", "x-ratelimit-reset", "1800000000"],
  ]);
  response.end(text, "latin1");
}

const item = (row: Row) => ({
  id: row[0],
  project_id: row[1],
  environment: row[2],
  status: row[3],
  version: row[4],
  created_at: row[5],
  updated_at: row[6],
  completed_at: row[7],
  deployed_at: row[8] ?? undefined,
});
const view = (row: Row) => `${JSON.stringify(item(row)).slice(0, -1)},"source":${row[9]}}`;

function identify(request: IncomingMessage): Key | undefined {
  const secret = request.headers.authorization?.slice("Bearer ".length) ?? "";
  const key = statement.key.get(hash("sha256", secret, "hex")) as Key | undefined;
  return key?.status === "active" ? key : undefined;
}

function create(
  { organization_id }: Key,
  body: { project_id: string; environment: string; source: object },
): Row | undefined {
  const { project_id, environment } = body;
  if (typeof project_id !== "string" || typeof environment !== "string" || typeof body.source !== "object")
    return undefined;
  const project = statement.project.get(project_id, organization_id) as { status: string } | undefined;
  if (project?.status !== "active") return undefined;
  const id = next("dep");
  const at = now();
  const due = new Date(Date.parse(at) + 86_400_000).toISOString();
  const source = JSON.stringify({ type: "git", repo: null, branch: null, tag: null, image_url: null, ...body.source });
  statement.environment.run(project_id, environment);
  const repo = (body.source as { repo?: string }).repo?.toLowerCase() ?? null;
  const isFirst = statement.queued.get(project_id, environment) === undefined;
  statement.deployment.run(id, organization_id, project_id, environment, source, repo, due, at, at, at);
  statement.log.run(id, organization_id, at);
  const data = { deployment_id: id, project_id, environment, version: null };
  statement.event.run(next("evt"), organization_id, at, JSON.stringify(data));
  statement.subscribers.all(organization_id);
  if (isFirst) statement.job.run(next("job"), due);
  return [id, project_id, environment, "queued", null, at, at, null, null, source];
}

const waiting: (() => () => void)[] = [];
function flush(): void {
  statement.begin.run();
  const answers = waiting.splice(0).map((work) => {
    statement.savepoint.run();
    const made = work();
    statement.release.run();
    return made;
  });
  statement.commit.run();
  for (const reply of answers) reply();
}

function post(key: Key, text: string, response: ServerResponse): void {
  const work = () => {
    const row = create(key, JSON.parse(text));
    return () => (row ? answer(response, 201, view(row)) : answer(response, 422, `{"error":{}}`));
  };
  if (mode === "group") {
    if (waiting.push(work) === 1) setImmediate(flush);
    return;
  }
  statement.begin.run();
  const reply = work();
  statement.commit.run();
  reply();
}

const server = createServer((request, response) => {
  const key = identify(request);
  if (!key) return answer(response, 401, `{"error":{}}`);
  const path = request.url?.split("?", 1)[0] ?? "";
  if (request.method === "POST") {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => post(key, Buffer.concat(chunks).toString(), response));
  } else if (path === "/v1/deployments") {
    const rows = statement.list.all(key.organization_id) as Row[];
    const data = rows.slice(0, 20).map(item);
    const next = rows[20] ? `"${data.at(-1)?.id}"` : "null";
    answer(response, 200, `{"data":${JSON.stringify(data)}}`, `,"per_page":20,"next_cursor":${next}`);
  } else {
    const row = statement.get.get(path.slice("/v1/deployments/".length), key.organization_id) as Row | undefined;
    if (row) answer(response, 200, view(row));
    else answer(response, 404, `{"error":{}}`);
  }
});
server.listen(0, "127.0.0.1", () => {
  serve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, () => {
    server.close();
    server.closeAllConnections();
    db.close();
  });
});
