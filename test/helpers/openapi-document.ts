import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { faults, named } from "./json-schema.ts";

type Json = Readonly<Record<string, unknown>>;

/** The parts of the published document for one envelope against which responses are checked. */
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
}
interface Described {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, Json>>;
}
interface Response {
  readonly headers: Json;
  readonly content?: Readonly<Record<string, { readonly schema: Json; readonly example: unknown }>>;
}

export const read = (envelope: "flat" | "full") =>
  JSON.parse(readFileSync(`schema/openapi${envelope === "full" ? "-full" : ""}.json`, "utf8")) as Document & Json;

const routesOf = (document: Document) =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      matches: new RegExp(`^/v1${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`),
      // A path without parameters precedes a template that would match it.
      isExact: !path.includes("{"),
      operation,
    })),
  );
const made = (envelope: "flat" | "full") => {
  const document = read(envelope);
  return { document, routes: routesOf(document).sort((a, b) => Number(b.isExact) - Number(a.isExact)) };
};
const published: { flat?: ReturnType<typeof made>; full?: ReturnType<typeof made> } = {};

export const resolved = <T>(part: Json, document: Json): T =>
  (typeof part["$ref"] === "string" ? named(part["$ref"], document) : part) as T;

const ours = /^(x-request-id|x-ratelimit-\w+|location|retry-after|www-authenticate|idempotent-replayed)$/;

/** Checks a response under `/v1` against the published document: status, headers and body. */
export function conforms(
  method: string,
  path: string,
  { status, headers, body }: { status: number; headers: Headers; body: unknown },
  envelope: "flat" | "full",
): void {
  published[envelope] ??= made(envelope);
  const { document, routes } = published[envelope];
  const bare = path.split("?", 1)[0] ?? "";
  const found = routes.find((route) => route.method === method && route.matches.test(bare))?.operation;
  if (!found) {
    assert.ok([401, 404, 405, 421, 429].includes(status) || method === "HEAD", `${method} ${path} answered ${status}`);
    return;
  }
  const declared = found.responses[status];
  assert.ok(declared, `${found.operationId} does not declare ${status}: ${JSON.stringify(body)}`);
  const response = resolved<Response>(declared, document);
  const names = Object.keys(response.headers).map((name) => name.toLowerCase());
  for (const [name] of headers) {
    if (ours.test(name)) assert.ok(names.includes(name), `${found.operationId} ${status} does not declare ${name}`);
  }
  if (status === 201) assert.ok(headers.get("location"), `${found.operationId} answers 201 without Location`);
  const type = headers.get("content-type")?.split(";", 1)[0];
  assert.equal(type === undefined, response.content === undefined, `${found.operationId} ${status} has content`);
  if (type === undefined) return;
  const content = response.content?.[type];
  assert.ok(content, `${found.operationId} does not declare ${type}`);
  if (type === "application/json") {
    assert.deepEqual(faults(content.schema, body, document), [], `${found.operationId} ${status}`);
  }
}
