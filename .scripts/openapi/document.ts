import { existsSync, readdirSync } from "node:fs";
import type * as v from "valibot";
import { type Json, jsonSchemas } from "../../lib/composition/openapi/json-schema.ts";
import { operations } from "../../lib/composition/operations.ts";
import { models } from "../../lib/features/generations/models.ts";
import { type ProblemCode, problems } from "../../lib/kernel/errors.ts";
import { type Operation, problemsOf } from "../../lib/kernel/operation.ts";
import { version } from "../../lib/kernel/version.ts";
import { queryParameters, webhooks } from "./components.ts";
import { answered, headers, info, metas, parameters, problem, tagsOf } from "./descriptions.ts";
import { exampleOf } from "./examples.ts";

export type Envelope = "flat" | "full";
type Schemas = Readonly<Record<string, Json>>;

const ref = (kind: string, name: string) => ({ $ref: `#/components/${kind}/${name}` });
const object = (properties: Json) => ({ type: "object", required: Object.keys(properties), properties });
const headersOf = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, ref("headers", name)]));
const everywhere = ["X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];
const meta = { request_id: "req_01KAJK2M00REQXXXX000000000", timestamp: "2026-11-21T09:00:00.000Z" };
const pascal = (words: string) => words.replaceAll(/(?:^|[^A-Za-z0-9]+)([a-z0-9])/g, (_, first) => first.toUpperCase());

/**
 * The schemas of bodies and results with their names: the export name in the feature's `schema.ts`, or else a name
 * derived from the operation.
 */
export async function namedSchemas(): Promise<Map<v.GenericSchema, string>> {
  const exported = new Map<unknown, string>();
  for (const folder of readdirSync("lib/features")) {
    if (!existsSync(`lib/features/${folder}/schema.ts`)) continue;
    for (const [name, schema] of Object.entries(await import(`../../lib/features/${folder}/schema.ts`)))
      exported.set(schema, pascal(name));
  }
  const used = new Map<v.GenericSchema, string>();
  for (const { id, body, result } of operations) {
    if (body) used.set(body, exported.get(body) ?? pascal(`${id}.body`));
    if (result) used.set(result, exported.get(result) ?? pascal(`${id}.result`));
  }
  const names = [...used.values()];
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice) throw new Error(`two schemas of the interface are called ${twice}; rename one where it is exported`);
  return used;
}

const statusOf = ({ answers }: Operation) =>
  String(
    { created: 201, accepted: 202, empty: 204, object: 200, list: 200, stream: 200, socket: 101, document: 200 }[
      answers
    ],
  );

/** The content type of a followed list. */
const streamed = {
  "text/event-stream": {
    schema: {
      type: "string",
      description:
        "One event per item, with the item as its data. `Last-Event-ID` resumes the stream; the event `end` is the last one.",
    },
    example:
      'id: 1\ndata: {"timestamp":"2026-11-21T09:00:00.000Z","level":"info","message":"Cloning"}\n\nevent: end\ndata: {}\n\n',
  },
};

/** The successful response of an operation. */
function success(operation: Operation, record: string | undefined, schemas: Schemas, envelope: Envelope): Json {
  const { answers, method, needs } = operation;
  const more = [
    ...(answers === "created" ? ["Location"] : []),
    ...(method === "POST" && needs !== "nothing" ? ["Idempotent-Replayed"] : []),
  ];
  const common = { description: answered[answers], headers: headersOf([...everywhere, ...more]) };
  const content = (schema: Json, example: unknown) => ({
    ...common,
    content: { "application/json": { schema, example }, ...(answers === "stream" && streamed) },
  });
  if (answers === "document") return content({ type: "object" }, { openapi: "3.1.1" });
  if (record === undefined) return common;
  const data = ref("schemas", record);
  const one = exampleOf(data, schemas);
  const list = answers === "list" || answers === "stream";
  if (envelope === "full") {
    const pagination = { total: 1, page: 1, per_page: 20, next_cursor: null };
    const around = { meta: ref("schemas", "Meta"), ...(list && { pagination: ref("schemas", "Pagination") }) };
    return content(object({ data: list ? { type: "array", items: data } : data, ...around }), {
      data: list ? [one] : one,
      meta,
      ...(list && { pagination }),
    });
  }
  if (!list) return content({ allOf: [data, object({ meta: ref("schemas", "Meta") })] }, { ...(one as Json), meta });
  return content(object({ data: { type: "array", items: data }, meta: ref("schemas", "ListMeta") }), {
    data: [one],
    meta: { ...meta, per_page: 20, next_cursor: null },
  });
}

/** The error codes that an operation may return, by status. Operations without a key have no 401 and no 403. */
function refusalsOf(operation: Operation): Map<number, ProblemCode[]> {
  const groups = new Map<number, ProblemCode[]>();
  for (const code of problemsOf(operation)) {
    const { status } = problems[code];
    if (operation.needs === "nothing" && (status === 401 || status === 403)) continue;
    groups.set(status, [...(groups.get(status) ?? []), code]);
  }
  return groups;
}

/** The response for the error codes of one status. */
function refusal(codes: readonly ProblemCode[]): Json {
  const [first = "internal_error"] = codes;
  const { status, when } = problems[first];
  // Besides successes, an Idempotency-Key also stores the 404 of an identifier and every 409.
  const byStatus: Readonly<Record<number, readonly string[]>> = {
    401: ["WWW-Authenticate"],
    404: ["Idempotent-Replayed"],
    409: ["Idempotent-Replayed"],
    429: ["Retry-After"],
    503: ["Retry-After"],
  };
  const details = first === "validation_failed" && { details: [{ path: "name", message: "is required" }] };
  return {
    description: codes.map((code) => `\`${code}\`: ${problems[code].when}.`).join(" "),
    headers: headersOf([...everywhere, ...(byStatus[status] ?? [])]),
    content: {
      "application/json": {
        schema: ref("schemas", problemOf(codes)),
        example: { error: { code: first, message: when, ...details }, meta },
      },
    },
  };
}

const nameOf = (codes: readonly ProblemCode[]) => codes.join(".");
const problemOf = (codes: readonly ProblemCode[]) => `${pascal(nameOf(codes))}Problem`;

/** A reference to the problem with one of these codes. Named, so that generated clients contain each problem once. */
const problemWith = (codes: readonly ProblemCode[]) => ({
  allOf: [
    ref("schemas", "Problem"),
    { properties: { error: { properties: { code: { type: "string", enum: codes }, message: {}, details: {} } } } },
  ],
});

function path(operation: Operation, names: Map<v.GenericSchema, string>, schemas: Schemas, envelope: Envelope): Json {
  const { id, summary, description, needs, roles, addition, body, result, method } = operation;
  const needsKey = needs !== "nothing";
  const bodyRef = body && ref("schemas", names.get(body) ?? "");
  return {
    operationId: id,
    summary,
    description,
    tags: [id.split(".")[0]],
    security: needsKey ? [{ key: [] }] : [],
    "x-scope": needs === "key" ? "any" : needsKey ? needs : null,
    "x-roles": needsKey ? roles : [],
    ...(addition && { "x-addition": true }),
    parameters: [
      ...queryParameters(operation),
      ref("parameters", "RequestId"),
      ...(operation.answers === "stream" ? [ref("parameters", "LastEventId")] : []),
      ...(method === "POST" && needsKey ? [ref("parameters", "IdempotencyKey")] : []),
    ],
    ...(bodyRef && {
      requestBody: {
        required: true,
        content: { "application/json": { schema: bodyRef, example: exampleOf(bodyRef, schemas) } },
      },
    }),
    responses: {
      [statusOf(operation)]: success(operation, result && names.get(result), schemas, envelope),
      // Generators and linters require a 2xx for every operation; orval's client does not compile with the range 2XX.
      ...(operation.answers === "socket" && { "204": { description: "Never sent: a WebSocket opens with 101." } }),
      ...Object.fromEntries(
        [...refusalsOf(operation)].map(([status, codes]) => [status, ref("responses", nameOf(codes))]),
      ),
    },
  };
}

/** The OpenAPI 3.1 document of the API in one of its envelopes. */
export async function openapi(envelope: Envelope): Promise<Json> {
  const names = await namedSchemas();
  const schemas = jsonSchemas(Object.fromEntries([...names].map(([schema, name]) => [name, schema])));
  const paths: Record<string, Record<string, Json>> = {};
  const responses: Record<string, Json> = {};
  const narrowed: Record<string, Json> = {};
  for (const operation of operations) {
    const made = path(operation, names, schemas, envelope);
    paths[operation.path] = { ...paths[operation.path], [operation.method.toLowerCase()]: made };
    for (const codes of refusalsOf(operation).values()) {
      responses[nameOf(codes)] = refusal(codes);
      narrowed[problemOf(codes)] = problemWith(codes);
    }
  }
  return {
    openapi: "3.1.1",
    info: { ...info, version: version() },
    // The price of each built-in model in US dollars, by resolution. The service bills by the same table.
    "x-models": models.map(({ id, kind, summary, price }) => ({ id, kind, summary, price })),
    servers: [{ url: "/v1", description: "The service that this document comes from." }],
    security: [{ key: [] }],
    tags: tagsOf(operations.map(({ id }) => id.split(".")[0] ?? "")),
    paths,
    webhooks: webhooks(),
    components: {
      securitySchemes: { key: { type: "http", scheme: "bearer", description: "An API key: `sk_live_…`." } },
      schemas: { ...metas[envelope], Problem: problem(Object.keys(problems)), ...narrowed, ...schemas },
      responses,
      parameters,
      headers,
    },
  };
}
