/**
 * Servers under load in their own process, which the tests kill: writers that make every change the interface offers,
 * jobs, and deliveries. Each writer appends a line to the file `acks` beside its database before each change, and one
 * after the response. Arguments: a seed, the writers per server, the projects per writer (0 for no limit), `FULL` or
 * `NORMAL`, the address of a receiver, and the databases.
 */
import { openSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import Database from "better-sqlite3";
import { createService, type GenerationDriver, type Service, simulatedDeployments } from "../../lib/index.ts";
import { createRandom, type Random } from "../../lib/kernel/random.ts";
import { jsonBearer } from "../helpers/headers.ts";
import { git, keyOf, seed } from "../helpers/test-service.ts";
import type { Fact, Table } from "./facts.ts";

const [, , chance = "", writers = "1", projects = "0", synchronous = "FULL", receiver = "", ...databases] =
  process.argv;

/**
 * `NORMAL` is better-sqlite3's default, which the service overrides. The power-loss simulator must detect its losses.
 */
if (synchronous === "NORMAL") {
  const { pragma } = Database.prototype;
  Database.prototype.pragma = function (text, options) {
    if (text === "synchronous = FULL") return pragma.call(this, "synchronous = NORMAL", options);
    return text === "synchronous" ? 2 : pragma.call(this, text, options);
  };
}

// A write to a pipe is synchronous, so a printed line survives a kill right after it.
const say = (word: string) => void process.stdout.write(`${word}\n`);

const quick = { queued: "1ms", building: "2ms", deploying: "1ms" };
const deployments = simulatedDeployments(({ environment }) => ({
  durations: quick,
  ...(environment === "broken" && { result: "fail" as const }),
  ...(environment === "sick" && { result: "rolled_back" as const }),
}));
const signature = Buffer.from("89504e470d0a1a0a", "hex");
const picture: GenerationDriver = {
  delay: () => 1,
  submit: async ({ seed: length }) => ({
    state: "done",
    bytes: Buffer.concat([signature, Buffer.alloc(length, 7)]),
    cost_usd: 0.01,
  }),
  poll: async () => ({ state: "failed", code: "driver_failed", message: "it is never polled" }),
  cancel: async () => {},
};

/** Appends facts to the file beside a database. The first fact creates the file. */
function notesBeside(database: string) {
  let acks: number | undefined;
  return (...fact: Fact) => {
    acks ??= openSync(join(dirname(database), "acks"), "a", 0o600);
    writeSync(acks, `${JSON.stringify(fact)}\n`);
  };
}

const callsOf =
  (service: Service<string | null>) =>
  async (method: string, path: string, body?: object, more: Record<string, string> = {}) => {
    const response = await service.fetch(`/v1${path}`, {
      method,
      headers: { ...jsonBearer(keyOf("owner")), ...more },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    // A store that cannot write answers 503; deleted rows and ended work answer 404 or 409. Any other error is a fault.
    if (!response.ok && ![404, 409, 503].includes(response.status))
      say(`wrong ${method} ${path}: ${response.status} ${text}`);
    return { done: response.ok, body: (text ? JSON.parse(text) : {}) as { id: string; data: object[] } };
  };

/** Changes that are noted in `acks`. */
function changesOf(call: ReturnType<typeof callsOf>, note: ReturnType<typeof notesBeside>) {
  return {
    /** Creates something and notes its row after the acknowledgement. */
    async make(table: Table, path: string, body: object, within = "", name = ""): Promise<string | undefined> {
      if (name) note("try", "made", table, name, "");
      const made = await call("POST", path, body, name ? { "idempotency-key": name } : {});
      if (!made.done) return undefined;
      note("ack", "made", table, made.body.id, within);
      return made.body.id;
    },
    /** Changes a column of a row; from the acknowledgement on, it must hold `value`. */
    async change(column: string, id: string, value: string, method: string, path: string, body?: object) {
      note("try", column, "", id, value);
      if ((await call(method, path, body)).done) note("ack", column, "", id, value);
    },
    async remove(table: Table, id: string, path: string): Promise<void> {
      note("try", "gone", table, id, "");
      if ((await call("DELETE", path)).done) note("ack", "gone", table, id, "");
    },
  };
}

type Act = (project: string, random: Random) => Promise<unknown>;

function actsOf({ make, change, remove }: ReturnType<typeof changesOf>): readonly Act[] {
  const deploy = (project_id: string, environment: string) =>
    make("deployments", "/deployments", { project_id, environment, source: git }, project_id);
  return [
    (project, random) => {
      const description = random.alphanumeric(8);
      return change("description", project, description, "PUT", `/projects/${project}`, { description });
    },
    (project) => deploy(project, "production"),
    (project) => deploy(project, "broken"),
    (project) => Promise.all([deploy(project, "sick"), deploy(project, "sick")]),
    async (project) => {
      const id = await deploy(project, "production");
      if (id) await change("status", id, "cancelled", "POST", `/deployments/${id}/cancel`);
    },
    (project, random) => {
      const value = random.alphanumeric(9);
      const variables = { PORT: "1", TOKEN: { value, secret: true } };
      return change("TOKEN", project, value, "PUT", `/projects/${project}/environments/production`, { variables });
    },
    async (_, random) => {
      const id = await make("api_keys", "/api-keys", { name: random.alphanumeric(6) });
      if (id && random.fraction() < 0.5) await remove("api_keys", id, `/api-keys/${id}`);
    },
    (_, random) =>
      make("generations", "/generations", { model: "any", prompt: "x", seed: Math.floor(random.fraction() * 5000) }),
    (_, random) =>
      make("invitations", "/users/invite", { email: `${random.alphanumeric(12)}@acme.test`, role: "viewer" }),
    async (_, random) => {
      const id = await make("endpoints", "/webhooks", { url: "https://extra.inbox.test/", events: ["user.removed"] });
      if (id && random.fraction() < 0.7) await remove("endpoints", id, `/webhooks/${id}`);
    },
  ];
}

/** Starts a server; returns its load, which closes the server at its end. */
async function serve(database: string, number: number): Promise<() => Promise<void>> {
  const service = await createService({
    database,
    seed,
    rateLimit: 1_000_000,
    logLevel: "silent",
    deployments: { driver: deployments, concurrency: 32 },
    generations: { driver: picture },
  });
  const call = callsOf(service);
  const changes = changesOf(call, notesBeside(database));
  const acts = actsOf(changes);
  const { make, remove } = changes;

  const write = async (writer: number): Promise<void> => {
    const random = createRandom(`${chance} ${number} ${writer}`);
    for (let i = 0; Number(projects) === 0 || i < Number(projects); i++) {
      const name = `p-${process.pid}-${writer}-${i}`;
      const project = await make("projects", "/projects", { name, region: "eu", description: "new" }, "", name);
      if (!project) continue;
      for (let act = 0; act < 4; act++) await acts[Math.floor(random.fraction() * acts.length)]?.(project, random);
      if (random.fraction() < 0.25) await remove("projects", project, `/projects/${project}`);
    }
  };
  return async () => {
    // Both webhooks exist before the first event and are never deleted, so every event has a delivery to each.
    const base = receiver || "https://receiver.inbox.test";
    const answers = Array.from({ length: 1_000 }, (_, i) => (i % 3 === 0 ? 500 : 200));
    if (!receiver) service.inbox.script("receiver", answers);
    if ((await call("GET", "/webhooks")).body.data.length === 0)
      for (const name of ["fine", "flaky"])
        await make("endpoints", "/webhooks", { url: `${base}/${name}`, events: ["*"] });
    await Promise.all(Array.from({ length: Number(writers) }, (_, writer) => write(writer)));
    await service.close();
  };
}

const refused = (error: Error) => {
  say(`refused ${error.message}`);
  process.exit(1);
};
const loads = await Promise.all(databases.map(serve)).catch(refused);
say("ready");
await Promise.all(loads.map((load) => load()));
say("closed");
