import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { operations } from "../../lib/composition/operations.ts";
import { createService, type Options, type Seed, type Service } from "../../lib/index.ts";
import type { Operation } from "../../lib/kernel/operation.ts";
import { bearer } from "./headers.ts";
import { conforms } from "./openapi-document.ts";

/** The caller in a scenario: a member of `acme`, the owner of `globex`, or nobody. */
export type Who = "owner" | "admin" | "developer" | "viewer" | "stranger" | "nobody";

export const keyOf = (who: Exclude<Who, "nobody">) => `sk_live_demo_${who}`;

const member = (role: "owner" | "admin" | "developer" | "viewer") => ({
  name: role,
  email: `${role}@acme.test`,
  role,
  keys: [{ name: role, key: keyOf(role) }],
});

/** Two organizations: `acme` with one user per role, and `globex` with an owner who must never see data of acme. */
export const seed = {
  organizations: [
    { name: "acme", plan: "pro", users: [member("owner"), member("admin"), member("developer"), member("viewer")] },
    {
      name: "globex",
      users: [
        {
          name: "Stranger",
          email: "stranger@globex.test",
          role: "owner",
          keys: [{ name: "main", key: keyOf("stranger") }],
        },
      ],
    },
  ],
} satisfies Seed;

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed body; `undefined` if there is none. Untyped, so tests can read any field. */
  // biome-ignore lint/suspicious/noExplicitAny: a test may assert any field of a response
  readonly body: any;
  readonly text: string;
}

export interface World {
  readonly service: Service<string | null>;
  /** Calls the API in process and checks every response against the operation's declaration. */
  call(who: Who, method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>;
  /** The names of the events of `acme`, oldest first. */
  events(): Promise<string[]>;
  /** Creates a project and returns it. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  project(name?: string): Promise<any>;
  /** Creates a deployment in a project and returns it. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  deploy(project_id: string, more?: object): Promise<any>;
}

export const start = "2026-01-01T00:00:00.000Z";
export const git = { type: "git", repo: "acme/web", branch: "main" } as const;

/** An in-memory service with a manual clock and seeded randomness. It closes with the test. */
export async function world(t: TestContext, options: Options = {}): Promise<World> {
  const service = await createService({
    clock: `manual@${start}`,
    seed,
    random: "world",
    logLevel: "silent",
    ...options,
  });
  t.after(() => service.close());
  return around(service, options.envelope === "full");
}

/** A fork of a world. It also closes with the test. */
export async function forked(t: TestContext, { service }: World): Promise<World> {
  const fork = await service.fork();
  t.after(() => fork.close());
  return around(fork);
}

/** Wraps a service as a world. */
export function around(service: Service<string | null>, full = false): World {
  const unwrap = (body: { data: unknown }) => (full ? body.data : body);

  const call: World["call"] = async (who, method, path, body, headers = {}) => {
    const response = await service.fetch(path, {
      method,
      headers: {
        ...(who !== "nobody" && bearer(keyOf(who))),
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const reply: Reply = {
      status: response.status,
      headers: response.headers,
      body: text ? JSON.parse(text) : undefined,
      text,
    };
    if (path.startsWith("/v1")) hold(method, path, reply, full);
    return reply;
  };

  const made = async (path: string, body: object) => {
    const reply = await call("owner", "POST", path, body);
    assert.equal(reply.status, 201, reply.text);
    return unwrap(reply.body);
  };

  return {
    service,
    call,
    async events() {
      const { body } = await call("owner", "GET", "/v1/events?per_page=100");
      return body.data.map(({ event }: { event: string }) => event).reverse();
    },
    project: (name = "web") => made("/v1/projects", { name, region: "eu-west-1" }),
    deploy: (project_id, more = {}) =>
      made("/v1/deployments", { project_id, environment: "production", source: git, ...more }),
  };
}

const pattern = ({ path }: Operation) => new RegExp(`^/v1${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`);
const routes = operations.map((operation) => ({ operation, matches: pattern(operation) }));

/** Asserts what applies to every response under /v1: headers, meta, and its schema in the OpenAPI document. */
function hold(method: string, path: string, reply: Reply, full: boolean): void {
  const { status, headers, body } = reply;
  const id = headers.get("x-request-id");
  assert.ok(id, "every answer carries X-Request-Id");
  for (const name of ["limit", "remaining", "reset"]) assert.match(headers.get(`x-ratelimit-${name}`) ?? "", /^\d+$/);
  conforms(method, path, reply, full ? "full" : "flat");
  const bare = path.split("?", 1)[0] ?? "";
  const operation = routes.find((route) => route.operation.method === method && route.matches.test(bare))?.operation;
  if (body === undefined || operation?.answers === "document") return;
  assert.equal(body.meta.request_id, id, "meta.request_id equals the header");
  assert.match(body.meta.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  if (status >= 400) assert.equal(body.error.code === "validation_failed", body.error.details !== undefined);
  if (status >= 400 || !operation?.result) return;
  const { meta, ...flat } = body;
  const names = Object.keys((operation.result as unknown as { entries: object }).entries);
  const isList = operation.answers === "list" || operation.answers === "stream";
  for (const record of isList ? body.data : [full ? body.data : flat]) {
    for (const name of Object.keys(record)) assert.ok(names.includes(name), `${operation.id} leaks ${name}`);
  }
}

/** One line of the specification: a caller, a request, its response, and exactly these events. */
export interface Scenario<G> {
  readonly name: string;
  readonly as: Who;
  readonly options?: Options;
  /** Sets up the initial state. Its events are not counted. */
  readonly given?: (world: World) => Promise<G>;
  readonly when: readonly [method: string, path: string | ((given: G) => string)];
  readonly body?: unknown | ((given: G) => unknown);
  readonly headers?: Record<string, string>;
  /** The status, optionally with the problem's code. */
  readonly then: number | readonly [status: number, code: string];
  /** Exactly these events; none by default. */
  readonly events?: readonly string[];
  // biome-ignore lint/suspicious/noExplicitAny: a test may assert any field of a response
  readonly and?: (body: any, reply: Reply, world: World, given: G) => void | Promise<void>;
}

export async function check<G>(t: TestContext, scenario: Scenario<G>): Promise<void> {
  await t.test(scenario.name, async (t) => {
    const here = await world(t, scenario.options);
    const given = (await scenario.given?.(here)) as G;
    const before = (await here.events()).length;
    const [method, path] = scenario.when;
    const body = typeof scenario.body === "function" ? scenario.body(given) : scenario.body;
    const reply = await here.call(
      scenario.as,
      method,
      typeof path === "function" ? path(given) : path,
      body,
      scenario.headers,
    );
    const [status, code] = typeof scenario.then === "number" ? [scenario.then] : scenario.then;
    assert.equal(reply.status, status, reply.text);
    if (code) assert.equal(reply.body.error.code, code);
    assert.deepEqual((await here.events()).slice(before), scenario.events ?? []);
    await scenario.and?.(reply.body, reply, here, given);
  });
}

/** Asserts the status of a reply; returns its record. */
export function expect(reply: Reply, status: number) {
  assert.equal(reply.status, status, reply.text);
  return reply.body;
}
