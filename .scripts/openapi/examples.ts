import type { Json } from "../../lib/composition/openapi/json-schema.ts";

/** Example values by field name, for fields whose schema has no example. */
const words: Json = {
  per_page: 50,
  cursor: "MX4wMUtBSksyTTAw.q3xVbG0c5n1T",
  wait: 30,
  username: "ci",
  password: "registry_password_demo",
  extra: { quality: "high" },
  timeout: "5m",
  record: "_svc.www.acme.example",
  headers: { "x-tenant": "acme" },
  body: '{"event":"ping"}',
  input: { model: "image-standard", prompt: "a lighthouse at dusk" },
  code: "cancelled",
  queued: 3,
  cost_usd: 0.04,
  generations: 12,
  rate_limit: 600,
  exit_code: 1,
  timeout_s: 600,
  data_bytes: 1_048_576,
  progress: 0.4,
  price: 0.04,
  pricePerSecond: 0.1,
  sizes: ["1024x1024", "1024x1536"],
  downloads: ["https://files.example.com"],
  workers: ["worker"],
  process: "web",
  value: "8080",
  channel: "#deploys",
  events: "deployment.failed",
  site: "datadoghq.eu",
  service: "web",
  from: "2026-11-01",
  to: "2026-11-30",
  name: "web",
  region: "eu-west-1",
  description: "The public site",
  environment: "production",
  version: "v1.4.2",
  commit: "0123456789abcdef0123456789abcdef01234567",
  repo: "acme/web",
  branch: "main",
  root: "apps/web",
  tag: "v1.4.2",
  image_url: "registry.example.com/acme/web:1.4.2",
  message: "The build is done",
  email: "ada@acme.example",
  token: "tok_demo",
  api_key: "sk_live_demo_ada",
  key: "sk_live_demo_ada",
  url: "https://hooks.acme.example/in",
  keep_previous_for: "24h",
  action: "projects.delete",
  target: idOf("proj"),
  key_id: idOf("key"),
  address: "203.0.113.7",
  request_id: idOf("req"),
  webhook_url: "https://chat.example.com/in/42",
  secret: "whsec_demo",
  event: "deployment.succeeded",
  data: { project_id: idOf("proj") },
  domains: ["www.acme.example"],
  config: { repo: "acme/web", branch: "main", environment: "production" },
  scopes: ["*"],
  variables: { PORT: "8080" },
  error: "answered 500",
  mail_error: "550 5.1.1 no such user",
  env: { HF_HOME: "/var/lib/models" },
  response: "Internal Server Error",
  model: "image-standard",
  prompt: "a lighthouse at dusk",
  aspect_ratio: "16:9",
  resolution: "1K",
  output_format: "png",
  user: "guest",
  cron: "0 3 * * *",
  command: "node clean.js",
  schedule: "clean",
  reason: "npm ERR! missing script: build",
  next_cursor: null,
  duration_ms: 42,
  status: "active",
  joined_at: "2026-11-21T09:00:00.000Z",
  expires_at: "2026-11-28T09:00:00.000Z",
  date: "2026-11-21",
};

export function idOf(prefix: string): string {
  return `${prefix}_01KAJK2M00${prefix
    .toUpperCase()
    .replaceAll(/[^0-9A-HJKMNP-TV-Z]/g, "X")
    .padEnd(16, "0")}`;
}

const owners: Readonly<Record<string, string>> = {
  project_id: "proj",
  deployment_id: "dep",
  new_deployment_id: "dep",
  user_id: "usr",
  invitation_id: "inv",
  generation_id: "gen",
  run_id: "run",
};

const fits = (value: unknown, type: string | undefined) =>
  type === undefined || type.replace("integer", "number") === (Array.isArray(value) ? "array" : typeof value);

/** A valid example of a schema, the same at every call. `schemas` are the ones that references point to. */
export function exampleOf(schema: Json, schemas: Readonly<Record<string, Json>>, name = ""): unknown {
  const of = (one: unknown, as = name) => exampleOf(one as Json, schemas, as);
  const {
    $ref,
    allOf,
    anyOf,
    oneOf,
    enum: choices,
    examples,
    items,
    properties,
    type,
  } = schema as {
    $ref?: string;
    allOf?: Json[];
    anyOf?: Json[];
    oneOf?: Json[];
    enum?: unknown[];
    examples?: unknown[];
    items?: Json;
    properties?: Record<string, Json>;
    type?: string;
  };
  if ("const" in schema) return schema["const"];
  if (examples) return examples[0];
  if ($ref) return of(schemas[$ref.split("/").at(-1) ?? ""]);
  if (allOf) return Object.assign({}, ...allOf.map((one) => of(one)));
  if (choices) return name in words && choices.includes(words[name]) ? words[name] : choices[0];
  const either = anyOf ?? oneOf;
  if (either) return words[name] === null ? null : of(either[0]);
  if (properties) return Object.fromEntries(Object.entries(properties).map(([key, one]) => [key, of(one, key)]));
  const [, prefix] = /^\^([a-z]+)_\[/.exec(String(schema["pattern"] ?? "")) ?? [];
  if (prefix ?? owners[name]) return idOf(prefix ?? owners[name] ?? "");
  if (schema["format"] === "date-time") return words[name] ?? "2026-11-21T09:00:00.000Z";
  if (name in words && fits(words[name], type)) return words[name];
  if (type === "array") return [of(items ?? {})];
  if (type === "object") return {};
  if (type === "integer" || type === "number") return schema["minimum"] ?? 1;
  return type === "boolean" ? true : "text";
}
