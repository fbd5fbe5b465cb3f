import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type Options, simulatedDeployments } from "../../lib/index.ts";
import { problems } from "../../lib/kernel/errors.ts";
import fc from "../helpers/fast-check.ts";
import { drafted } from "../helpers/fuzz-dashboard.ts";
import type { Drafted } from "../helpers/fuzz-requests.ts";
import { faults, named } from "../helpers/json-schema.ts";
import { type Answered, keepAliveClient } from "../helpers/keep-alive-client.ts";
import { knownRecords } from "../helpers/known-records.ts";
import { conforms, read } from "../helpers/openapi-document.ts";
import { anyText, isLong, runs } from "../helpers/properties.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";
import { keyOf, seed, type World, world } from "../helpers/test-service.ts";

/**
 * `SVC_SERVER_FUZZ=100000 node test/run.mjs http/fuzz` sends this many requests; `SVC_SERVER_FUZZ_SEED` repeats those
 * of an earlier run.
 */
const cases = Number(process.env["SVC_SERVER_FUZZ"] ?? (isLong ? 20_000 : 500));
const repeated = process.env["SVC_SERVER_FUZZ_SEED"];
/** Requests per service; a new service follows, before the records make it slow. */
const batch = 2_000;

const document = read("flat");
const problem = named("#/components/schemas/Problem", document);

/** Asserts the rules for every answer, whatever the request. */
function judge({ method, path }: Drafted, answer: Answered): void {
  const { status, headers, body } = answer;
  assert.ok(status < 500, `${status}: ${answer.text}`);
  assert.ok(headers.get("x-request-id"), "every answer carries X-Request-Id");
  // Another method leads to another operation or to none. So do dots: `users/./suspend` is `users/suspend`.
  // A backslash does not: it is a character of an identifier, and `new URL` alone would make it a slash.
  const { pathname } = new URL(path.replaceAll("\\", "%5C"), "http://localhost");
  const operation = pathname.replace(/^\/dashboard\/api\//, "/v1/");
  // The dashboard refuses pages of other origins, and needs a session even where an operation needs no key.
  const undeclared = operation === pathname ? [404, 405] : [401, 403, 404, 405];
  if (operation.startsWith("/v1/") && !undeclared.includes(status)) conforms(method, operation, answer, "flat");
  if (status < 400 || method === "HEAD") return;
  assert.deepEqual(faults(problem, body, document), []);
  assert.equal(body.meta.request_id, headers.get("x-request-id"));
  assert.equal(problems[body.error.code as keyof typeof problems]?.status, status, body.error.code);
  assert.equal(body.error.code === "validation_failed", body.error.details !== undefined);
}

const roles = ["owner", "admin", "developer", "viewer"] as const;
const isRole = (name: string): name is (typeof roles)[number] => roles.some((role) => role === name);

/** Creates a record of each kind, so that the first requests meet some. */
async function populate(here: World, known: ReturnType<typeof knownRecords>, sends: boolean) {
  const { id: project_id } = await here.project();
  const source = { type: "git", repo: "acme/web" };
  const config = { url: "https://hook.inbox.test/" };
  for (const [path, body] of [
    ...(sends
      ? ([
          ["webhooks", { ...config, events: ["*"] }],
          ["integrations", { type: "custom", config }],
        ] as const)
      : []),
    ["deployments", { project_id, environment: "production", source }],
    ["deployments", { project_id, environment: "production", source }],
    ["generations", { model: "any-image", resolution: "32x32" }],
    ["users/invite", { email: "guest@acme.test", role: "viewer" }],
    ["api-keys", { name: "more" }],
  ] as const) {
    known.learn(await here.call("owner", "POST", `/v1/${path}`, body));
  }
  await here.service.settle();
  for (const path of ["projects", "users", ...(sends ? ["webhooks", "integrations"] : [])]) {
    const { body } = await here.call("owner", "GET", `/v1/${path}?per_page=1`);
    const id = body.data[0].id;
    known.learn({ text: id, body });
    if (path === "webhooks") known.learn(await here.call("owner", "GET", `/v1/webhooks/${id}/deliveries?per_page=1`));
  }
  known.add("globex", (await here.call("stranger", "POST", "/v1/projects", { name: "web", region: "eu" })).body.id);
}

const quick = { queued: "1ms", building: "1ms", deploying: "1ms", in_progress: "1ms" };
/**
 * In `dev` time passes by itself, and in `start` work is short, so calls that wait or follow come to an end. In `start`
 * deliveries would go over the network, so nothing that sends is registered there.
 */
const modes = {
  dev: { clock: "3600x", strict: true },
  start: {
    ...({ mode: "start", clock: "real", random: undefined } as const),
    ...{ rateLimit: 0, addressRateLimit: 0 },
  },
} as const;

/** A listening service, and the records that its answers have shown. */
async function target(t: TestContext, mode: Drafted["mode"], logger: Options["logger"]) {
  const driver = simulatedDeployments(() => ({ durations: quick }));
  const here = await listeningWorld(t, { logger, deployments: { driver }, ...modes[mode] });
  const client = keepAliveClient(here.port);
  const known = knownRecords();
  await populate(here, known, mode === "dev");
  const keys = new Map<string, string>(roles.map((role) => [role, keyOf(role)]));
  for (const key of keys.values()) known.add("secrets", key);
  let organization: string = seed.organizations[0]?.name ?? "";
  const { body: own } = await here.call("owner", "GET", "/v1/organization");
  let turn = 0;

  const renewKey = async (role: (typeof roles)[number]) => {
    const { key } = await here.service.keys.create({ organization, role });
    keys.set(role, key);
    known.add("secrets", key);
    return key;
  };
  /** Learns the people for whom the dashboard may act. */
  const learnPeople = async () => {
    if (mode === "dev") {
      const { body } = await client.ask("GET", "/dashboard/session/people");
      for (const { person } of body.data) known.add("people", person);
      return;
    }
    const role = roles[turn % roles.length] ?? "owner";
    const signIn = (key: string) =>
      client.ask("POST", "/dashboard/session", {
        headers: [["Content-Type", "application/json"]],
        body: JSON.stringify({ key }),
      });
    const tried = await signIn(keys.get(role) ?? "");
    const { headers } = tried.status === 201 ? tried : await signIn(await renewKey(role));
    known.add("cookies", headers.get("set-cookie")?.split(";", 1)[0] ?? "");
  };
  await learnPeople();

  return {
    async play({ key, ...draft }: Drafted): Promise<number> {
      turn += 1;
      if (mode === "dev" && turn % 100 === 0) {
        const { body } = await here.call("nobody", "GET", "/_svc/mail");
        for (const { token } of body.data.slice(-1)) known.add("tokens", token);
      }
      const fill = (text: string) => known.fill(text, turn);
      const headers = draft.headers.map(([name, value]) => [name, fill(value)] as const);
      const path = fill(draft.path);
      const isDashboard = path.startsWith("/dashboard/");
      const authorization = ["Authorization", `Bearer ${keys.get(key) ?? `sk_live_${key}`}`] as const;
      const body = draft.body && Buffer.from(fill(draft.body.toString("latin1")), "latin1");
      const answer = await client.ask(draft.method, path, {
        headers: isDashboard ? headers : [authorization, ...headers],
        ...(body && { body }),
      });
      judge({ ...draft, key, path }, answer);
      if (answer.status < 300) known.learn(answer);
      if (answer.status === 404 || answer.status === 204) known.forget(path);
      // The caller may have renamed the organization. In the dashboard, that is not the owner of the request's key.
      if (answer.body?.plan && answer.body.id === own.id) organization = answer.body.name;
      // An earlier request has revoked this key, removed its user, or ended the session.
      if (answer.status === 401 && isDashboard) await learnPeople();
      else if (answer.status === 401 && isRole(key)) await renewKey(key);
      return answer.status;
    },
    async close() {
      await client.close();
      await here.service.close();
    },
  };
}

async function play(t: TestContext, count: number, from: number) {
  const errors: unknown[] = [];
  const log = { error: (...all: unknown[]) => void errors.push(all), warn() {}, info() {}, debug() {} };
  const targets = { dev: await target(t, "dev", log), start: await target(t, "start", log) };
  const statuses = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(drafted, async (draft) => {
      const status = await targets[draft.mode].play(draft);
      const [, part = ""] = draft.path.split("/");
      const place = `${part} ${draft.mode} ${status}`;
      statuses.set(place, (statuses.get(place) ?? 0) + 1);
    }),
    { numRuns: count, seed: from },
  );
  assert.deepEqual(errors, [], "nothing is logged as an error");
  for (const one of Object.values(targets)) await one.close();
  return statuses;
}

test(`${cases} requests, right and wrong, get no 5xx and always a documented answer`, async (t) => {
  const first = repeated ? Number(repeated) : Math.floor(Math.random() * 2 ** 31);
  const all: Record<string, number> = {};
  const rss: number[] = [];
  for (let sent = 0; sent < cases; sent += batch) {
    const statuses = await play(t, Math.min(batch, cases - sent), first + sent);
    for (const [status, count] of statuses) all[status] = (all[status] ?? 0) + count;
    if ((sent / batch) % 50 === 0) rss.push(Math.round(process.memoryUsage.rss() / 2 ** 20));
  }
  t.diagnostic(JSON.stringify({ seed: first, statuses: all, rss_mib: rss }));
});

test("a project has the very name that was sent, trimmed", async (t) => {
  const { call } = await world(t, { rateLimit: 0 });
  const name = fc.oneof(anyText({ maxLength: 70 }), fc.string({ unit: "grapheme", minLength: 3, maxLength: 64 }));
  await fc.assert(
    fc.asyncProperty(name, async (name) => {
      const { status, body } = await call("owner", "POST", "/v1/projects", { name, region: "eu-west-1" });
      if (status === 201) assert.equal(body.name, name.trim());
      else assert.ok([409, 422].includes(status), `${status}`);
    }),
    runs(50),
  );
});
