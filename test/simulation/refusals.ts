import { operations } from "../../lib/composition/operations.ts";
import type { Seed } from "../../lib/index.ts";
import type { ProblemCode } from "../../lib/kernel/errors.ts";
import type { Operation } from "../../lib/kernel/operation.ts";
import type { StepContext } from "../helpers/all-operations.ts";
import type { Described } from "../helpers/fuzz-requests.ts";
import { bearer } from "../helpers/headers.ts";
import { read } from "../helpers/openapi-document.ts";
import { keyOf } from "../helpers/test-service.ts";
import { everything, refusal } from "./coverage.ts";

/** Keys of a second owner of `acme`: one with one request per window, two with a single scope. */
export const limitedOwner: NonNullable<Seed["organizations"][number]["users"]>[number] = {
  name: "Limited",
  email: "limited@acme.test",
  role: "owner",
  keys: [
    { name: "one request", key: "sk_live_demo_one_request", rate_limit: 1 },
    { name: "projects", key: "sk_live_demo_projects", scopes: ["projects:read"] },
    { name: "generations", key: "sk_live_demo_generations", scopes: ["generations:read"] },
  ],
};

/** How many requests without a key one address may send per window: the default of `addressRateLimit`. */
const addressLimit = 1_000;

const document = read("flat");
const exampleOf = ({ id, path, method }: Operation): object => {
  // The example names a project that does not exist here.
  if (id === "integrations.create") return { type: "custom", config: { url: "https://hook.inbox.test/" } };
  const described = document.paths[path]?.[method.toLowerCase()] as unknown as Described | undefined;
  return (described?.requestBody?.content["application/json"].example as object | undefined) ?? {};
};

interface Asked {
  readonly as?: string | undefined;
  readonly headers?: Record<string, string>;
  readonly query?: string;
  readonly body?: unknown;
}
type Ask = (more: Asked) => Promise<unknown>;
const fieldsOf = (schema: unknown) => Object.keys((schema as { entries?: object } | undefined)?.entries ?? {});

/** Refusals common to all operations, whichever records exist. */
const common: Partial<Record<ProblemCode, (ask: Ask, operation: Operation, context: StepContext) => Promise<unknown>>> =
  {
    unauthorized: (ask) => ask({ as: undefined }),
    insufficient_role: (ask, { roles }) => {
      const other = (["viewer", "developer", "admin"] as const).find((role) => !roles.includes(role));
      return ask({ as: keyOf(other ?? "viewer") });
    },
    insufficient_scope: (ask, { needs }) =>
      ask({ as: needs === "projects:read" ? "sk_live_demo_generations" : "sk_live_demo_projects" }),
    async rate_limited(ask, { needs }, { here }) {
      const isOpen = needs === "nothing";
      for (let sent = 0; sent < (isOpen ? addressLimit + 1 : 2); sent++)
        await ask({ as: isOpen ? undefined : "sk_live_demo_one_request" });
      // Requests without a key share one count; the next window has room for them.
      if (isOpen) await here.service.clock.advance("10m");
    },
    invalid_json: (ask) => ask({ body: "{" }),
    body_too_large: (ask) => ask({ body: " ".repeat(1024 ** 2 + 1) }),
    unsupported_media_type: (ask) => ask({ body: "{}", headers: { "content-type": "text/plain" } }),
    validation_failed: (ask, { query, body }) =>
      ask({
        headers: { "idempotency-key": "x".repeat(256) },
        query: fieldsOf(query)
          .map((name) => `?${name}=%00`)
          .slice(0, 1)
          .join(""),
        ...(body && { body: Object.fromEntries(["type", ...fieldsOf(body)].map((name) => [name, false])) }),
      }),
    async idempotency_mismatch(ask, operation) {
      const headers = { "idempotency-key": `mismatch ${operation.id}` };
      const body = exampleOf(operation);
      await ask({ headers, body });
      await ask({ headers, body: { ...body, more: true } });
    },
    not_found: (ask, operation) => ask(operation.body ? { body: exampleOf(operation) } : {}),
  };

/** This many seeds in a row try every refusal. */
export const rounds = 50;
const isTurn = (operation: Operation, code: string, seed: number) =>
  everything.indexOf(refusal(operation.id, code)) % rounds === seed % rounds;

const asking =
  ({ beside, refused }: StepContext, operation: Operation): Ask =>
  async ({ query = "", body, headers = {}, ...more }) => {
    const as = "as" in more ? more.as : keyOf("owner");
    const path = `/v1${operation.path.replaceAll(/\{(\w+)\}/g, "none_01")}${query}`;
    const reply = await beside(operation.method, path, body, { ...(as !== undefined && bearer(as)), ...headers });
    if (reply.status >= 400) refused.add(refusal(operation.id, reply.body.error.code));
  };

/** Tries a share of all refusals; each seed has another share. */
export async function refuse(context: StepContext, seed: number): Promise<void> {
  for (const operation of operations)
    for (const [code, way] of Object.entries(common))
      if (isTurn(operation, code, seed)) await way(asking(context, operation), operation, context);
}

/** The same for a service that is shutting down. */
export async function refuseAtEnd(context: StepContext, seed: number): Promise<void> {
  for (const operation of operations) if (isTurn(operation, "unavailable", seed)) await asking(context, operation)({});
}
