import { operations } from "../../lib/composition/operations.ts";
import type { Random } from "../../lib/kernel/random.ts";
import { expect, type Reply, type Who, type World } from "./test-service.ts";

/** What a step can use. */
export interface StepContext {
  readonly here: World;
  readonly random: Random;
  /** Calls an operation by its id and records the response with all headers. */
  call(id: string, params?: Readonly<Record<string, string>>, body?: object, as?: Who): Promise<Reply>;
  /** Sends a raw request, for example to a path that is not an operation. */
  beside(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>;
  /** The id of a random created record; `last` gives the newest. */
  one(kind: string): string;
  last(kind: string): string;
  /** The operations that were refused so far, with the problem's code. */
  readonly refused: Set<string>;
}
export type Step = (context: StepContext) => Promise<unknown>;

const region = "eu-west-1";
const config = { repo: "acme/web", branch: "main", environment: "production" };
const commit = (random: Random) =>
  Array.from({ length: 40 }, () => Math.floor(random.fraction() * 16).toString(16)).join("");
const pick = <T>(random: Random, list: readonly [T, ...T[]]): T =>
  list[Math.floor(random.fraction() * list.length)] ?? list[0];

const production = (last: StepContext["last"]) => ({ id: last("projects"), name: "production" });
const variables = (random: Random) => ({
  variables: { PORT: "1", TOKEN: { value: random.alphanumeric(9), secret: true } },
});
const repository = { owner: "acme", name: "web" };

/** The operations that webhooks and integrations share. */
const deliveries = (kind: "webhooks" | "integrations"): Record<string, Step> => ({
  [`${kind}.list`]: ({ call }) => call(`${kind}.list`),
  [`${kind}.get`]: ({ call, one }) => call(`${kind}.get`, { id: one(kind) }),
  [`${kind}.test`]: async ({ call, one, here }) => {
    await call(`${kind}.test`, { id: one(kind) });
    await here.service.settle();
  },
  [`${kind}.deliveries`]: ({ call, one }) => call(`${kind}.deliveries`, { id: one(kind) }),
  [`${kind}.delivery`]: async ({ call, last }) => {
    const id = last(kind);
    const { body } = await call(`${kind}.deliveries`, { id });
    await call(`${kind}.delivery`, { id, dlv: body.data?.[0]?.id ?? "dlv_none" });
  },
  [`${kind}.redeliver`]: async ({ call, last }) => {
    const id = last(kind);
    const { body } = await call(`${kind}.deliveries`, { id });
    await call(`${kind}.redeliver`, { id, dlv: body.data?.[0]?.id ?? "dlv_none" });
  },
  [`${kind}.recover`]: ({ call, one }) => call(`${kind}.recover`, { id: one(kind) }, { since: "2026-01-01T00:00:00Z" }),
});

/** Adds a member that later steps can change. */
const join: Step = async ({ here, call, random }) => {
  expect(await call("users.invite", {}, { email: `${random.alphanumeric(12)}@acme.test`, role: "viewer" }), 201);
  const { data } = expect(await here.call("nobody", "GET", "/_svc/mail"), 200);
  await call("invitations.accept", {}, { token: data.at(-1).token, name: "Guest" }, "nobody");
};

const source = ({ random }: StepContext) => ({
  source: { type: "git", repo: "acme/web", branch: `b${Math.floor(random.fraction() * 5)}` },
});
const deploy: Step = (context) => {
  const order = { project_id: context.last("projects"), environment: "production", ...source(context) };
  return context.call("deployments.create", {}, order);
};
const paint =
  (model: string): Step =>
  ({ call, random }) =>
    call("generations.create", {}, { model, prompt: random.alphanumeric(5), resolution: "32x32" });
const invitation: Step = ({ call, random }) =>
  call("users.invite", {}, { email: `${random.alphanumeric(12)}@acme.test`, role: "viewer" });

/**
 * A call of each operation, ordered so that each finds its prerequisites. Other steps are pushes, repeated calls and
 * time. A test fails for operations that are missing here.
 */
export const allSteps: Readonly<Record<string, Step>> = {
  "me.get": ({ call }) => call("me.get"),
  "audit-log.list": ({ call }) => call("audit-log.list"),
  "openapi.get": ({ call }) => call("openapi.get"),
  "organization.get": ({ call }) => call("organization.get"),
  "organization.update": ({ call, random }) =>
    call("organization.update", {}, { name: `acme ${random.alphanumeric(3)}` }),
  "webhooks.create": ({ call, random }) => {
    const url = `https://h${random.alphanumeric(1)}.inbox.test/`;
    return call("webhooks.create", {}, { url, events: ["*"], secret: "hush" });
  },
  "integrations.create": async ({ call, random }) => {
    await call("integrations.create", {}, { type: "code_host", config });
    await call("integrations.create", {}, { type: "monitoring", config: { api_key: "k", site: "monitor.test" } });
    const chat = { webhook_url: `https://chat.test/${random.alphanumeric(4)}`, channel: "#web" };
    await call("integrations.create", {}, { type: "chat", config: chat });
  },
  "projects.create": ({ call, random }) => call("projects.create", {}, { name: `p-${random.alphanumeric(8)}`, region }),
  "projects.list": ({ call }) => call("projects.list"),
  "projects.get": ({ call, one }) => call("projects.get", { id: one("projects") }),
  "projects.update": ({ call, one, random }) =>
    call("projects.update", { id: one("projects") }, { description: random.alphanumeric(4) }),
  "environments.put": ({ call, last, random }) => call("environments.put", production(last), variables(random)),
  "environments.update": ({ call, last, random }) =>
    call("environments.update", production(last), { variables: { ...variables(random).variables, PORT: null } }),
  "environments.logs": ({ call, last }) => call("environments.logs", production(last)),
  "environments.runs": ({ call, last }) => call("environments.runs", production(last)),
  "environments.restart": ({ call, last }) => call("environments.restart", production(last)),
  "environments.list": ({ call, one }) => call("environments.list", { id: one("projects") }),
  "deployments.create": async (context) => {
    await deploy(context);
    await context.here.service.clock.advance("10s");
    await deploy(context);
    await context.here.service.clock.advance("10s");
  },
  "deployments.list": ({ call }) => call("deployments.list"),
  "deployments.get": ({ call, one }) => call("deployments.get", { id: one("deployments") }),
  "deployments.logs": ({ call, one }) => call("deployments.logs", { id: one("deployments") }),
  "deployments.rollback": ({ call, last }) => call("deployments.rollback", { id: last("deployments") }),
  "deployments.cancel": async (context) => {
    await deploy(context);
    await context.call("deployments.cancel", { id: context.last("deployments") });
  },
  "generations.create": async (context) => {
    await paint("any-image")(context);
    await paint("flux-dev")(context);
  },
  "generations.list": ({ call }) => call("generations.list"),
  "generations.get": ({ call, one }) => call("generations.get", { id: one("generations") }),
  "generations.cancel": async (context) => {
    await paint("any-image")(context);
    await context.call("generations.cancel", { id: context.last("generations") });
  },
  "generations.usage": ({ call }) => call("generations.usage"),
  "repositories.list": ({ call }) => call("repositories.list"),
  "repositories.update": ({ call }) => call("repositories.update", repository, { default_branch: "main" }),
  "repositories.delete": ({ call }) => call("repositories.delete", repository),
  "users.invite": invitation,
  "invitations.list": ({ call }) => call("invitations.list"),
  "invitations.get": ({ call, last }) => call("invitations.get", { id: last("invitations") }),
  "invitations.resend": ({ call, last }) => call("invitations.resend", { id: last("invitations") }),
  "invitations.revoke": ({ call, last }) => call("invitations.revoke", { id: last("invitations") }),
  "invitations.accept": join,
  "users.list": ({ call }) => call("users.list"),
  "users.get": ({ call, one }) => call("users.get", { id: one("users") }),
  "users.update": ({ call, last }) => call("users.update", { id: last("users") }, { role: "developer" }),
  "users.suspend": ({ call, last }) => call("users.suspend", { id: last("users") }),
  "users.reactivate": ({ call, last }) => call("users.reactivate", { id: last("users") }),
  "users.delete": ({ call, last }) => call("users.delete", { id: last("users") }),
  "keys.create": ({ call, random }) =>
    call("keys.create", {}, { name: random.alphanumeric(4), scopes: ["projects:read"] }),
  "keys.list": ({ call }) => call("keys.list"),
  "keys.get": ({ call, last }) => call("keys.get", { id: last("keys") }),
  "keys.revoke": ({ call, last }) => call("keys.revoke", { id: last("keys") }),
  ...deliveries("webhooks"),
  ...deliveries("integrations"),
  "webhooks.update": ({ call, one }) => call("webhooks.update", { id: one("webhooks") }, { status: "active" }),
  "integrations.update": ({ call, last, random }) =>
    call("integrations.update", { id: last("integrations") }, { config: { channel: `#${random.alphanumeric(3)}` } }),
  "events.list": ({ call }) => call("events.list"),
  "events.stream": ({ call }) => call("events.stream"),
  "projects.archive": ({ call, last }) => call("projects.archive", { id: last("projects") }),
  "projects.unarchive": ({ call, last }) => call("projects.unarchive", { id: last("projects") }),
  "a push": ({ beside, random }) =>
    beside(
      "POST",
      "/hooks/code-host",
      { ref: "refs/heads/main", after: commit(random), repository: { full_name: "acme/web" }, commits: [] },
      { "x-github-event": "push", "x-github-delivery": random.alphanumeric(12) },
    ),
  "the same call again": ({ beside, random }) => {
    const key = { "idempotency-key": `k${random.alphanumeric(1)}`, authorization: "Bearer sk_live_demo_owner" };
    return beside("POST", "/v1/projects", { name: "twice", region }, key);
  },
  time: ({ here, random }) => here.service.clock.advance(pick(random, ["1s", "5s", "3m", "1h"])),
  "webhooks.delete": ({ call, one }) => call("webhooks.delete", { id: one("webhooks") }),
  "integrations.delete": ({ call, one }) => call("integrations.delete", { id: one("integrations") }),
  "environments.delete": ({ call, last }) => call("environments.delete", production(last)),
  "projects.delete": async ({ call, random, last }) => {
    await call("projects.create", {}, { name: `p-${random.alphanumeric(8)}`, region });
    await call("projects.delete", { id: last("projects") });
  },
};

/** Operations that cannot succeed in a world: it has no WebSocket in process, and a simulation runs no apps and hosts no git. */
export const impossible = ["events.stream", "environments.restart", "repositories.update", "repositories.delete"];

/** The collection of an operation's records, if its name differs from the operation's prefix. */
const makes: Readonly<Record<string, string>> = { "users.invite": "invitations", "invitations.accept": "users" };

/**
 * The results of the steps: all responses, the operations that succeeded, the refused operations with the problem's
 * code, and the created identifiers by kind.
 */
export interface StepRecord {
  readonly responses: string[];
  readonly succeeded: Set<string>;
  readonly refused: Set<string>;
  readonly made: Map<string, string[]>;
}

export const emptyRecord = (): StepRecord => ({
  ...{ responses: [], succeeded: new Set(), refused: new Set(), made: new Map() },
});

/** Creates the context with which steps call a world and add to the record. */
export function stepContext(here: World, random: Random, record: StepRecord): StepContext {
  const { responses, succeeded, refused, made } = record;
  const note = (what: string, { status, headers, text }: Reply) =>
    responses.push(`${what} ${status} ${JSON.stringify([...headers])} ${text}`);
  const listOf = (kind: string) => made.get(kind) ?? [];
  return {
    here,
    random,
    refused,
    async call(id, params = {}, body, as = "owner") {
      const operation = operations.find((one) => one.id === id);
      if (!operation) throw new Error(`there is no operation ${id}`);
      const path = `/v1${operation.path.replaceAll(/\{(\w+)\}/g, (_, name) => params[name] ?? "none")}`;
      const reply = await here.call(as, operation.method, path, body);
      note(`${id} ${path}`, reply);
      if (reply.status < 300) succeeded.add(id);
      if (reply.status >= 400) refused.add(`${id} ${reply.body.error.code}`);
      const kind = makes[id] ?? id.replace(/\..*/, "");
      if (reply.status === 201) made.set(kind, [...listOf(kind), reply.body.id]);
      const left = () => listOf(kind).filter((one) => one !== params["id"]);
      if (operation.method === "DELETE") made.set(kind, left());
      return reply;
    },
    async beside(method, path, body, headers) {
      const reply = await here.call("nobody", method, path, body, headers);
      note(`${method} ${path}`, reply);
      return reply;
    },
    one: (kind) => listOf(kind)[Math.floor(random.fraction() * listOf(kind).length)] ?? "none_01",
    last: (kind) => listOf(kind).at(-1) ?? "none_01",
  };
}

/** Runs all steps once in order, then random steps until `steps` are done. */
export async function runSteps(here: World, random: Random, steps: number) {
  const record = emptyRecord();
  const context = stepContext(here, random, record);
  const list = Object.values(allSteps);
  for (const step of list) await step(context);
  for (let done = list.length; done < steps; done++) await list[Math.floor(random.fraction() * list.length)]?.(context);
  await here.service.clock.runUntilIdle();
  return { ...record, generations: record.made.get("generations") ?? [], call: context.call };
}
