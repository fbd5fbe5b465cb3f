import type { TestContext } from "node:test";
import { type Finding, verify } from "../../bin/verify/trial.ts";
import { createService, type Options, type Service } from "../../lib/index.ts";
import { git, keyOf, seed, start } from "./test-service.ts";

export type Json = Record<string, unknown>;
export interface Request {
  readonly method: string;
  /** The path after the version prefix, or a path outside the API, with the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly key: string | undefined;
  readonly body: Json;
}
export interface Reply {
  status: number;
  headers: Headers;
  text: string;
  /** The parsed text. It is sent instead of `text`. Loosely typed, because a fault may change it into anything. */
  // biome-ignore lint/suspicious/noExplicitAny: as in test-service
  body: any;
}
/** Changes a request before the service receives it, or answers it instead. */
export type Before = (request: Request, serve: (request: Request) => Promise<Reply>) => Promise<Reply>;

/** A service on a manual clock. The waits of a trial advance the clock. */
export async function emulator(t: TestContext, more: Options = {}): Promise<Service<string | null>> {
  const service = await createService({
    clock: `manual@${start}`,
    seed,
    random: "verify",
    logLevel: "silent",
    generations: { media: "fast" },
    ...more,
  });
  t.after(() => service.close());
  const { projects, deployments, webhooks, integrations } = service.client({ apiKey: keyOf("owner") });
  const { id: project_id } = await projects.create({ name: "first", region: "eu-west-1", description: "one" });
  for (const environment of ["production", "staging"])
    await deployments.create({ project_id, environment, source: git });
  await service.clock.advance("10s");
  await projects.create({ name: "second", region: "eu-west-1" });
  await webhooks.create({ url: "https://example.com/hooks", events: ["*"], secret: "whsec_demo_0123456789abcdef" });
  const config = {
    url: "https://example.com/in",
    secret: "demo-secret-0123456789abcdef",
    events: ["project.created" as const],
  };
  await integrations.create({ type: "custom", config });
  return service;
}

export const usual: Before = (request, serve) => serve(request);

/** Runs a trial against a service whose answers pass through `fault`. */
export async function trial(
  service: Service<string | null>,
  fault: Before = usual,
  write = true,
  only?: string,
  stop?: AbortSignal,
): Promise<Finding[]> {
  const serve = async ({ method, path, key, body }: Request): Promise<Reply> => {
    const headers = {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      "content-type": "application/json",
    };
    const sent = ["POST", "PUT"].includes(method) && Object.keys(body).length > 0 ? { body: JSON.stringify(body) } : {};
    const isBeside = /^\/(_svc|assets)\//.test(path);
    const answer = await service.fetch(isBeside ? path : `/v1${path}`, { method, headers, ...sent });
    const text = await answer.text();
    const isJson = answer.headers.get("content-type")?.startsWith("application/json") && text !== "";
    return {
      status: answer.status,
      headers: new Headers(answer.headers),
      text,
      body: isJson ? JSON.parse(text) : undefined,
    };
  };
  const fetch = async (url: string, init: RequestInit) => {
    const { pathname, search, searchParams } = new URL(url);
    const key = new Headers(init.headers).get("authorization")?.replace("Bearer ", "");
    const path = pathname.replace("/v1", "") + search;
    const body = init.body ? JSON.parse(String(init.body)) : {};
    const request = { method: init.method ?? "GET", path, query: searchParams, key, body };
    const reply = await fault(request, serve);
    const text = reply.body === undefined ? reply.text : JSON.stringify(reply.body);
    return new Response(reply.status === 204 && text === "" ? null : text, {
      status: reply.status === 204 && text !== "" ? 200 : reply.status,
      headers: reply.headers,
    });
  };
  const pause = async (ms: number) => void (await service.clock.advance(`${ms}ms`));
  const options = { ...(only && { only }), ...(stop && { stop }) };
  return verify({ base: "http://service.test/v1", key: keyOf("owner"), fetch, pause, write, ...options });
}

/** Changes every record in an answer: the single record, or the items of a list. */
export const each =
  (change: (record: Json, request: Request) => void): Before =>
  async (request, serve) => {
    const reply = await serve(request);
    for (const record of Array.isArray(reply.body?.data) ? reply.body.data : [reply.body ?? {}])
      change(record, request);
    return reply;
  };
export const on =
  (pattern: RegExp, change: (reply: Reply, request: Request) => void): Before =>
  async (request, serve) => {
    const reply = await serve(request);
    if (pattern.test(`${request.method} ${request.path}`)) change(reply, request);
    return reply;
  };
/** Replaces a request with another one. */
export const asked =
  (pattern: RegExp, change: (request: Request) => Partial<Request>): Before =>
  (request, serve) =>
    serve(pattern.test(`${request.method} ${request.path}`) ? { ...request, ...change(request) } : request);
export const without = (path: string, name: string) => {
  const url = new URL(path, "http://service.test");
  url.searchParams.delete(name);
  return url.pathname + url.search;
};
export const is = (prefix: string, record: Json) => String(record["id"] ?? "").startsWith(prefix);
export const success = (reply: Reply, body: unknown, status = 200) => {
  reply.status = status;
  reply.body = body;
};
