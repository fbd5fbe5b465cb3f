import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import Database from "better-sqlite3";
import { auditService } from "../../lib/features/audit/service.ts";
import { createService, type Options } from "../../lib/index.ts";
import { createClock } from "../../lib/kernel/clock.ts";
import { createIds } from "../../lib/kernel/ids.ts";
import { createRandom } from "../../lib/kernel/random.ts";
import { openFile } from "../../lib/store/sqlite/database-files.ts";
import { createStore } from "../../lib/store/store.ts";
import { realIssuer, visitor } from "../helpers/issuer.ts";
import { mailServer } from "../helpers/mail-server.ts";
import { pixel } from "../helpers/openai-backend.ts";
import { type Figure, figure, timed } from "./figures.ts";

/** The service with people and other programs: mail, the audit log, sign-in, and events of generations. */
// The OpenID Connect provider prints advice to stdout, where the figures go.
console.info = console.warn = () => {};
const [folder = ""] = process.argv.slice(2);
const endings: (() => unknown)[] = [];
const t = { after: (end: () => unknown) => void endings.push(end) };
const key = "sk_live_bench";
/** Concurrent requests. */
const atOnce = 32;
const organization = {
  name: "acme",
  users: [{ name: "ada", email: "ada@acme.test", role: "owner" as const, keys: [{ key }] }],
};

async function service(name: string, options: Options = {}) {
  const made = await createService({
    database: join(folder, `${name}.db`),
    rateLimit: 1e9,
    addressRateLimit: 1e9,
    logLevel: "silent",
    seed: { organizations: [organization] },
    ...options,
  });
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const send = async (method: string, path: string, body: object): Promise<Record<string, string>> => {
    const response = await made.fetch(path, { method, headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as Record<string, string>;
  };
  const me = () => made.client({ apiKey: key }).me.get();
  return { send, me, listen: made.listen, settle: made.settle, close: made.close, clock: () => made.clock };
}

/** From the response to an invitation until the mail server has the mail. */
async function mail(): Promise<Figure> {
  const server = await mailServer(t);
  const here = await service("mail", { outbound: { send: true }, mail: { url: `smtp://127.0.0.1:${server.port}` } });
  const waited: number[] = [];
  for (let i = 0; i < 40; i++) {
    await here.send("POST", "/v1/users/invite", { email: `person${i}@acme.test`, role: "developer" });
    waited.push(await timed(() => server.count(i + 1)));
  }
  await here.close();
  return figure("from an invitation's commit until its mail is handed over", "ms", waited.slice(5), {
    floor: 1000,
    aim: 100,
  });
}

/** Processor time of one call, in microseconds. */
async function processorOf(call: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  for (let i = 0; i < 10; i++) await Promise.all(Array.from({ length: atOnce }, call));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / (10 * atOnce);
}

/**
 * Processor time of a change, and of its audit entry. The entry costs less than the difference between two rounds of
 * changes. So it is measured in the same database without the rest of a request: transactions that change a project,
 * with and without the entry.
 */
async function audit(): Promise<Figure[]> {
  const here = await service("audited");
  const { id } = await here.send("POST", "/v1/projects", { name: "bench", region: "eu-west-1" });
  const { organization, user } = await here.me();
  let changes = 0;
  const change = () => here.send("PUT", `/v1/projects/${id}`, { description: `change ${changes++}` });
  const whole: number[] = [];
  for (let round = -5; round < 30; round++) {
    const one = await processorOf(change);
    if (round >= 0) whole.push(one);
  }
  await here.close();

  const { engine } = openFile(join(folder, "audited.db"), { exclusive: true, mayCreate() {} });
  const store = createStore(engine);
  const clock = createClock("real");
  const ids = createIds(clock, createRandom());
  const log = auditService({ store, clock, ids, retention_ms: 0, onlyOrganization: async () => undefined });
  const scope = { organization_id: organization.id };
  const by = { user_id: user.id, key_id: ids.next("key"), via: "api", address: "127.0.0.1" } as const;
  const entry = { ...scope, ...by, action: "projects.update", target: id ?? null, request_id: ids.next("req") };
  const projects = store.using((query) => ({
    describe: query.change((db, { description }: { description: string }) =>
      db.updateTable("projects").set({ description }),
    ),
  }));
  const changing = (isAudited: boolean) => () =>
    store.transaction(scope, async (tx) => {
      await projects(tx).describe({ description: `change ${changes++}` });
      if (isAudited) await log.record(tx, entry);
    });
  const added: number[] = [];
  for (let round = -5; round < 60; round++) {
    // The order alternates, because a round pays for the garbage of the one before.
    const first = await processorOf(changing(round % 2 === 0));
    const second = await processorOf(changing(round % 2 !== 0));
    if (round >= 0) added.push(round % 2 === 0 ? first - second : second - first);
  }
  await store.close();
  const all = figure("PUT of a project with its audit entry, processor", "µs", whole);
  return [
    all,
    figure("the audit entry, processor", "µs", added),
    figure(
      "the entry's part of the change",
      "%",
      added.map((one) => (100 * one) / all.median),
      { floor: 3, aim: 1 },
    ),
  ];
}

/** From the arrival of the provider's response until the browser has its session. */
async function signIn(): Promise<Figure[]> {
  const at = await realIssuer(t);
  const here = await service("sign-in", {
    mode: "start",
    dashboard: {
      oidc: {
        issuer: at.issuer,
        clientId: "svc",
        clientSecret: "secret_of_svc",
        name: "Acme ID",
        organization: "acme",
      },
    },
  });
  const { port } = await here.listen({ port: 0 });
  const origin = `http://127.0.0.1:${port}`;
  at.serve(origin);
  const times: number[] = [];
  for (let i = 0; i < 12; i++) {
    const ada = visitor();
    const back = await ada.signIn(`${origin}/dashboard/oidc`, "ada");
    let status = 0;
    times.push(await timed(async () => ({ status } = await ada.send(back))));
    if (status !== 303) throw new Error(`the sign-in answered ${status}`);
  }
  await here.close();
  return [
    figure("sign-in after the issuer's answer, the first of a process", "ms", times.slice(0, 1)),
    figure("sign-in after the issuer's answer", "ms", times.slice(1), { floor: 300, aim: 100 }),
  ];
}

/** A model that responds at once. */
const answer = async () => ({ state: "done", bytes: pixel, cost_usd: null }) as const;
const driver = { delay: () => 0, submit: answer, poll: answer, cancel: async () => {} };

/** Events of generations to one receiver: the time, and the deliveries that are missing or were tried twice. */
async function told(): Promise<Figure[]> {
  const receiver: ChildProcess = fork(join(import.meta.dirname, "receiver.js"), [], { execArgv: [] });
  const [{ url }] = (await once(receiver, "message")) as [{ url: string }];
  const here = await service("told", { clock: "manual", generations: { driver } });
  await here.send("POST", "/v1/webhooks", { url, events: ["generation.completed"] });
  const count = 1000;
  const ms = await timed(async () => {
    for (let i = 0; i < count; i += 50) {
      const body = { model: "image-standard", prompt: "a harbour" };
      await Promise.all(Array.from({ length: 50 }, () => here.send("POST", "/v1/generations", body)));
      await here.clock().advance("5m");
      await here.settle();
    }
  });
  await here.close();
  const database = new Database(join(folder, "told.db"), { readonly: true });
  const { deliveries, tries } = database
    .prepare("select count(*) as deliveries, sum(tries) as tries from deliveries")
    .get() as { deliveries: number; tries: number };
  database.close();
  receiver.disconnect();
  return [
    figure(`${count} generations, each with its event delivered`, "s", [ms / 1000]),
    figure(
      "deliveries of them that are missing, or tried twice",
      "",
      [Math.abs(count - deliveries) + tries - deliveries],
      {
        floor: 0,
        aim: 0,
      },
    ),
  ];
}

process.stdout.write(JSON.stringify([await mail(), ...(await audit()), ...(await signIn()), ...(await told())]));
for (const end of endings) await end();
