import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import Database from "better-sqlite3";
import { createService, type Options } from "../../lib/index.ts";
import { realIssuer, visitor } from "../helpers/issuer.ts";
import { mailServer } from "../helpers/mail-server.ts";
import { pixel } from "../helpers/openai-backend.ts";
import { type Figure, figure, timed } from "./figures.ts";

/** Where the service meets people and other programs: mail, the audit log, sign-in, and events of generations. */
// The provider of OpenID Connect prints advice here, where the figures go.
console.info = console.warn = () => {};
const [folder = ""] = process.argv.slice(2);
const endings: (() => unknown)[] = [];
const t = { after: (end: () => unknown) => void endings.push(end) };
const key = "sk_live_bench";
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
  const post = async (path: string, body: object): Promise<Record<string, string>> => {
    const response = await made.fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as Record<string, string>;
  };
  return { post, listen: made.listen, settle: made.settle, close: made.close, clock: () => made.clock };
}

/** From the answer to an invitation until the mail server has its mail. */
async function mail(): Promise<Figure> {
  const server = await mailServer(t);
  const here = await service("mail", { outbound: { send: true }, mail: { url: `smtp://127.0.0.1:${server.port}` } });
  const waited: number[] = [];
  for (let i = 0; i < 40; i++) {
    await here.post("/v1/users/invite", { email: `person${i}@acme.test`, role: "developer" });
    waited.push(await timed(() => server.count(i + 1)));
  }
  await here.close();
  return figure("from an invitation's commit until its mail is handed over", "ms", waited.slice(5), {
    floor: 1000,
    aim: 100,
  });
}

/** Processor time of a POST, beside that of a service whose database swallows the entries. */
async function audit(): Promise<Figure[]> {
  const deploying = async (name: string, swallow: boolean) => {
    await (await service(name)).close();
    const database = new Database(join(folder, `${name}.db`));
    if (swallow) {
      database.exec(`alter table audit_log rename to audit_kept; create view audit_log as select * from audit_kept;
        create trigger audit_swallowed instead of insert on audit_log begin select 1; end;`);
    }
    database.close();
    const here = await service(name);
    const { id: project_id } = await here.post("/v1/projects", { name: "bench", region: "eu-west-1" });
    const order = { project_id, environment: "production", source: { type: "git", repo: "acme/web", branch: "main" } };
    const some = async () => {
      const { user, system } = process.cpuUsage();
      for (let i = 0; i < 10; i++)
        await Promise.all(Array.from({ length: 32 }, () => here.post("/v1/deployments", order)));
      const after = process.cpuUsage();
      return (after.user + after.system - user - system) / 320;
    };
    return { here, some };
  };
  const sides = [await deploying("audited", false), await deploying("unaudited", true)] as const;
  const rounds: [number, number][] = [];
  for (let round = -5; round < 60; round++) {
    // In turn first, because a round pays for the garbage of the one before.
    const [one, other] = round % 2 === 0 ? sides : [sides[1], sides[0]];
    const [first, second] = [await one.some(), await other.some()];
    if (round >= 0) rounds.push(one === sides[0] ? [first, second] : [second, first]);
  }
  for (const { here } of sides) await here.close();
  return [
    figure(
      "POST of a deployment with its audit entry, processor",
      "µs",
      rounds.map(([audited]) => audited),
    ),
    figure(
      "the entry's part of it",
      "%",
      rounds.map(([audited, bare]) => (100 * (audited - bare)) / audited),
      {
        floor: 3,
        aim: 1,
      },
    ),
  ];
}

/** From the provider's answer at the service until the browser has its session. */
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

/** A model that answers at once. */
const answer = async () => ({ state: "done", bytes: pixel, cost_usd: null }) as const;
const driver = { delay: () => 0, submit: answer, poll: answer, cancel: async () => {} };

/** Events of generations to one receiver: the tries that were needed. */
async function told(): Promise<Figure[]> {
  const receiver: ChildProcess = fork(join(import.meta.dirname, "receiver.js"), [], { execArgv: [] });
  const [{ url }] = (await once(receiver, "message")) as [{ url: string }];
  const here = await service("told", { clock: "manual", generations: { driver } });
  await here.post("/v1/webhooks", { url, events: ["generation.completed"] });
  const count = 1000;
  const ms = await timed(async () => {
    for (let i = 0; i < count; i += 50) {
      const body = { model: "image-standard", prompt: "a harbour" };
      await Promise.all(Array.from({ length: 50 }, () => here.post("/v1/generations", body)));
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
