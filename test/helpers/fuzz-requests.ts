import fc from "./fast-check.ts";
import { fitting } from "./fitting-values.ts";
import { read, resolved } from "./openapi-document.ts";
import { anyText } from "./properties.ts";

/** Generates requests for every operation of the published document. Some are valid, most are wrong in one place. */

type Json = Readonly<Record<string, unknown>>;
interface Parameter {
  readonly in: string;
  readonly name: string;
  readonly schema: Json;
}
export interface Described {
  readonly parameters?: readonly Json[];
  readonly requestBody?: { readonly content: { readonly "application/json": { schema: Json; example: unknown } } };
}

/**
 * A request to send. `@projects` in it stands for the id of an existing record, `@globex` for one of another
 * organization.
 */
export interface Drafted {
  /** The mode of the receiving service. In `start`, requests never register endpoints. */
  readonly mode: "dev" | "start";
  readonly method: string;
  readonly path: string;
  /** A role, or the text after `sk_live_`. */
  readonly key: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer | undefined;
}

const document = read("flat");

/** Values that violate rules or may break programs. */
const odd: readonly unknown[] = [
  ...[null, true, 0, -0, -1, 0.5, 1e21, 2 ** 53, [], {}, [[]], [{}], { id: 1 }, { toString: 1 }, { length: 1e9 }],
  ...["", " ", "\0", "a\0b", "\u202e", "\ud800", "\udfff\ud800", "é".normalize("NFD"), "𝒜".repeat(33), "x".repeat(65)],
  ...["__proto__", "constructor", "hasOwnProperty", "null", "-1", "1e9", "٥", "%00", "../..", "a/b", "' or 1=1 --"],
  ...["https://user:p@hook.test/", "http://hook.test", "https://[::1]:0/", "https://127.0.0.1:99999", "HTTPS://①②⑦.⓪"],
  ...[
    "2026-13-45T99:99:99Z",
    "9999-12-31T23:59:59.999Z",
    "+275760-09-13T00:00:00Z",
    "-000001-01-01",
    "x".repeat(70_000),
  ],
];
const anything = fc.oneof(fc.constantFrom(...odd), fc.jsonValue({ maxDepth: 3 }), anyText({ maxLength: 300 }));

/** Works even for an object whose `toString` is not a function. */
const asText = (value: unknown) => (typeof value === "object" ? JSON.stringify(value) : String(value)).toWellFormed();

/** Changes a value at any depth: replaces, removes or renames one part. */
function broken(value: unknown, at: number, other: unknown, way: number): unknown {
  if (typeof value !== "object" || value === null || at % 5 === 0) return other;
  const keys = Object.keys(value);
  const key = keys[at % keys.length];
  if (key === undefined) return other;
  if (Array.isArray(value)) return [...value, other];
  const parts = value as Record<string, unknown>;
  if (way === 0) return Object.fromEntries(Object.entries(parts).filter(([one]) => one !== key));
  if (way === 1) return { ...parts, [asText(other).slice(0, 300)]: other };
  return { ...parts, [key]: broken(parts[key], Math.floor(at / 5), other, way) };
}

const wide = JSON.stringify(Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [`key${i}`, i])));
/** Texts that are not JSON, or are expensive to parse. */
const bombs = [
  "",
  " ",
  "null",
  "[]",
  '"x"',
  "{",
  "{}{}",
  '{"name":1e400,"region":-1e400}',
  '{"name":"a","name":"b","region":"eu","region":{}}',
  '{"__proto__":{"role":"owner"},"constructor":{"prototype":{}}}',
  `{"name":${"9".repeat(2_000)}}`,
  `{"${"k".repeat(20_000)}":1}`,
  `{"variables":${wide}}`,
  wide,
  `{"a":${"[".repeat(2_000)}${"]".repeat(2_000)}}`,
  `{"events":[${'"*",'.repeat(2_000)}"*"]}`,
];

const edited = (text: string) =>
  fc.tuple(fc.nat(), fc.nat(3), fc.uint8Array({ maxLength: 4 })).map(([at, cut, more]) => {
    const bytes = Buffer.from(text);
    const from = at % (bytes.length + 1);
    return Buffer.concat([bytes.subarray(0, from), more, bytes.subarray(from + cut)]);
  });

export function bodyOf({ requestBody }: Described): fc.Arbitrary<Buffer | undefined> {
  const described = requestBody?.content["application/json"];
  if (!described) {
    return fc.oneof(
      { weight: 8, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary: fc.constantFrom(...bombs).map((text) => Buffer.from(text)) },
    );
  }
  const right = fc.oneof(fc.constant(described.example), fitting(described.schema));
  const json = (value: unknown) => Buffer.from(JSON.stringify(value) ?? "");
  return fc.oneof(
    { weight: 4, arbitrary: right.map(json) },
    {
      weight: 6,
      arbitrary: fc
        .tuple(right, fc.nat(), anything, fc.nat(3))
        .map(([value, at, other, way]) => json(broken(value, at, other, way))),
    },
    { weight: 1, arbitrary: right.chain((value) => edited(JSON.stringify(value))) },
    { weight: 1, arbitrary: fc.constantFrom(...bombs).map((text) => Buffer.from(text)) },
    { weight: 1, arbitrary: fc.constant(undefined) },
  );
}

/** A part of a path or query, encoded for a request line. */
const encoded = anyText({ maxLength: 12 }).map((text) => encodeURIComponent(text.toWellFormed()));
const strange = fc.oneof(
  encoded,
  fc.constantFrom(
    "%",
    "%zz",
    "%00",
    "..",
    ".",
    "%2e%2e",
    "%2F",
    ";x",
    "a%20b",
    "x".repeat(300),
    `%25${"25".repeat(200)}`,
  ),
  fc.constantFrom("%c0%ae".repeat(40), "[", "{id}", "|", "\\", "^", "`", '"', "<>"),
);
const identifiers = (kind: string) =>
  fc.oneof(
    { weight: 12, arbitrary: fc.constant(`@${kind}`) },
    { weight: 1, arbitrary: fc.constant("@globex") },
    { weight: 1, arbitrary: fc.constantFrom("proj_01ARZ3NDEKTSV4RRFFQ69G5FAV", "unknown", "@users", "production") },
    { weight: 1, arbitrary: strange },
  );

const queryOf = (parameters: readonly Parameter[]) => {
  const known = parameters.map(({ name, schema }) =>
    fc
      .oneof({ weight: 3, arbitrary: fitting(schema, name) }, { weight: 1, arbitrary: anything })
      // Cut, because Node's parser itself answers requests with longer URLs.
      .map((value) => [name, asText(value).slice(0, 600).toWellFormed()] as const),
  );
  const more = fc.tuple(fc.constantFrom("per_page", "cursor", "__proto__", "wait", "x"), strange);
  const pairs = fc.tuple(
    fc.subarray(known).chain((some) => fc.tuple(...some)),
    fc.oneof({ weight: 6, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: fc.array(more, { maxLength: 40 }) }),
  );
  return pairs.map(([right, odd]) => {
    const texts = [
      ...right.map(([name, value]) => `${name}=${encodeURIComponent(value)}`),
      ...odd.map((one) => one.join("=")),
    ];
    return texts.length === 0 ? "" : `?${texts.join("&").replaceAll("%40", "@")}`;
  });
};

export const visible = fc.string({ maxLength: 40 });
const more: fc.Arbitrary<readonly [string, string]> = fc.oneof(
  fc.tuple(fc.constantFrom("Idempotency-Key"), fc.oneof(fc.constantFrom("one", "two", ""), visible)),
  fc.tuple(fc.constantFrom("X-Request-Id", "Last-Event-ID", "Range", "If-None-Match", "Origin"), visible),
  fc.constantFrom(
    ["Content-Type", "text/plain"] as const,
    ["Content-Encoding", "gzip"] as const,
    ["X-Forwarded-For", "1.2.3.4, ::1"] as const,
    ["X-HTTP-Method-Override", "DELETE"] as const,
    ["Accept", "text/html;q=x"] as const,
    ["Cookie", "a=b; ".repeat(100)] as const,
    ["Last-Event-ID", "999999999999999999999"] as const,
    ["Range", "bytes=9-1,-"] as const,
  ),
  fc.tuple(fc.string({ unit: fc.constantFrom(..."abcXYZ-_0"), minLength: 1, maxLength: 20 }), visible),
);
export const headers: fc.Arbitrary<readonly (readonly [string, string])[]> = fc.oneof<
  fc.MaybeWeightedArbitrary<readonly (readonly [string, string])[]>[]
>(
  { weight: 5, arbitrary: fc.constant([]) },
  { weight: 3, arbitrary: fc.array(more, { maxLength: 3 }) },
  { weight: 1, arbitrary: fc.array(more, { maxLength: 60, size: "max" }) },
);
const keys = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom("owner", "owner", "admin", "developer") },
  { weight: 2, arbitrary: fc.constantFrom("viewer", "demo_stranger", "unknown", "x") },
);

export const typed = (headers: Drafted["headers"], body: Buffer | undefined): Drafted["headers"] =>
  body && headers.every(([name]) => name !== "Content-Type")
    ? [["Content-Type", "application/json"], ...headers]
    : headers;

export const methodLike = (right: string) =>
  fc.oneof(
    { weight: 20, arbitrary: fc.constant(right) },
    { weight: 1, arbitrary: fc.constantFrom("HEAD", "OPTIONS", "TRACE", "PURGE", "PUT") },
  );

const drafts = Object.entries(document.paths).flatMap(([template, methods]) =>
  Object.entries(methods).map(([method, operation]) => {
    const described = operation as unknown as Described;
    const parameters = (described.parameters ?? []).map((one) => resolved<Parameter>(one, document));
    const kind = template.split("/")[1] ?? "";
    const ids = fc.tuple(identifiers(kind), fc.oneof(identifiers("deliveries"), fc.constant("production")));
    const path = ids.map(([id, name]) => template.replace("{id}", () => id).replaceAll(/\{\w+\}/g, () => name));
    return fc.record({
      method: methodLike(method.toUpperCase()),
      path,
      query: queryOf(parameters.filter((one) => one.in === "query")),
      key: keys,
      headers,
      body: bodyOf(described),
    });
  }),
);

/** A request for any operation. */
export const called: fc.Arbitrary<Drafted> = fc.oneof(...drafts).map(({ path, query, headers, body, ...rest }) => ({
  ...{ ...rest, mode: "dev", path: `/v1${path}${query}` },
  ...{ headers: typed(headers, body), body },
}));
