import { allSteps, type Step, type StepContext } from "../helpers/all-operations.ts";
import { pullRequests } from "./pull-request-step.ts";

/** Situations that random single calls rarely reach: conflicts, large removals, receivers that are down. */

const region = "eu-west-1";
const git = { type: "git", repo: "acme/web", branch: "main" };
const newProject = async ({ call, random }: StepContext): Promise<string> =>
  (await call("projects.create", {}, { name: `p-${random.alphanumeric(8)}`, region })).body.id;
const deploy = async ({ call }: StepContext, project_id: string): Promise<string> =>
  (await call("deployments.create", {}, { project_id, environment: "production", source: git })).body.id;
const later = ({ here }: StepContext, by: string) => here.service.clock.advance(by);
const control = ({ beside }: StepContext, method: string, path: string, body: object) =>
  beside(method, `/_svc/${path}`, body, { "content-type": "application/json" });

const paint = async ({ call }: StepContext): Promise<string> =>
  (await call("generations.create", {}, { model: "any-image", prompt: "p" })).body.id;

/** A webhook to an inbox with these answers. */
async function webhookOf(context: StepContext, answers: readonly unknown[]): Promise<string> {
  const name = `w${context.random.alphanumeric(6).toLowerCase()}`;
  await control(context, "PUT", `inbox/${name}`, { responses: answers });
  const { body } = await context.call(
    "webhooks.create",
    {},
    { url: `https://${name}.inbox.test/`, events: ["project.deleted"] },
  );
  return body.id;
}
const newest = async ({ call }: StepContext, id: string): Promise<string> =>
  (await call("webhooks.deliveries", { id })).body.data?.[0]?.id ?? "dlv_none";
const five = Array.from({ length: 6 }, () => 500);

const conflicts: Record<string, Step> = {
  async "a project that is archived"(context) {
    const { call } = context;
    const project_id = await newProject(context);
    const id = await deploy(context, project_id);
    await call("deployments.rollback", { id });
    await later(context, "10s");
    await call("deployments.cancel", { id });
    await call("projects.archive", { id: project_id });
    await deploy(context, project_id);
    await call("deployments.rollback", { id });
    await call("projects.unarchive", { id: project_id });
  },
  async "a name that is taken"({ call, random }) {
    const [name, other] = [random.alphanumeric(8), random.alphanumeric(9)];
    await call("projects.create", {}, { name, region });
    await call("projects.create", {}, { name, region });
    const { body } = await call("projects.create", {}, { name: other, region });
    await call("projects.update", { id: body.id }, { name });
    await call("organization.update", {}, { name: "globex" });
    const { body: own } = await call("organization.get", {}, undefined, "stranger");
    await call("organization.update", {}, { name: own.name });
  },
  async "a domain that is taken"(context) {
    const domains = [`${context.random.alphanumeric(8).toLowerCase()}.example.com`];
    const [id, other] = [await newProject(context), await newProject(context)];
    await context.call("environments.put", { id, name: "production" }, { variables: {}, domains });
    for (const operation of ["environments.put", "environments.update"] as const)
      await context.call(operation, { id: other, name: "production" }, { variables: {}, domains });
  },
  async "people who are there"({ call, random }) {
    await call("users.invite", {}, { email: "owner@acme.test", role: "viewer" });
    const email = `${random.alphanumeric(12)}@acme.test`;
    await call("users.invite", {}, { email, role: "viewer" });
    await call("users.invite", {}, { email, role: "viewer" });
    const { body } = await call("users.list", {}, undefined, "stranger");
    const id = body.data[0].id;
    await call("users.update", { id }, { role: "viewer" }, "stranger");
    await call("users.suspend", { id }, undefined, "stranger");
    await call("users.delete", { id }, undefined, "stranger");
  },
  async "a plan without monitoring"({ call }) {
    const monitoring = { type: "monitoring", config: { api_key: "k", site: "monitor.test" } };
    await call("integrations.create", {}, monitoring, "stranger");
    await call("organization.update", {}, { plan: "pro" }, "stranger");
    const { body } = await call("integrations.create", {}, monitoring, "stranger");
    await call("organization.update", {}, { plan: "starter" }, "stranger");
    await call("integrations.update", { id: body.id ?? "none_01" }, { status: "active" }, "stranger");
    await call("integrations.delete", { id: body.id ?? "none_01" }, undefined, "stranger");
  },
};

const work: Record<string, Step> = {
  async "outcomes of deployments"(context) {
    const outcomes = [
      { result: "succeed" },
      { result: "rolled_back" },
      { result: "fail", at: "building" },
      { result: "fail", at: "deploying" },
    ];
    const id = await newProject(context);
    for (const outcome of outcomes) {
      await control(context, "POST", "scenarios", { next: "deployment", outcome });
      await deploy(context, id);
      await later(context, "10s");
    }
    // One is cancelled while it waits, the other while it builds.
    for (const by of ["0ms", "2s"]) {
      const one = await deploy(context, id);
      await later(context, by);
      await context.call("deployments.cancel", { id: one });
    }
    await later(context, "10s");
  },
  async "generations that wait for a turn"(context) {
    const { call } = context;
    const ids: string[] = [];
    for (let i = 0; i < 4; i++) ids.push(await paint(context));
    for (const id of [...ids].reverse()) await call("generations.cancel", { id });
    await call("generations.cancel", { id: ids[0] ?? "none_01" });
    await later(context, "1s");
  },
  "a pull request": pullRequests,
  async "a project with a long log"(context) {
    const logs = Array.from({ length: 1_100 }, (_, i) => ({ level: "info", message: `line ${i}` }));
    await control(context, "POST", "scenarios", { next: "deployment", outcome: { logs } });
    const id = await newProject(context);
    await deploy(context, id);
    await later(context, "10s");
    await context.call("projects.delete", { id });
  },
};

const receivers: Record<string, Step> = {
  async "a receiver that is down"(context) {
    const { call } = context;
    const id = await webhookOf(context, five);
    await call("webhooks.test", { id });
    await later(context, "3h");
    const dlv = await newest(context, id);
    await call("webhooks.recover", { id }, { since: "2026-01-01T00:00:00Z" });
    await call("webhooks.redeliver", { id, dlv });
    await later(context, "1s");
    await call("webhooks.update", { id }, { status: "active" });
  },
  async "a delivery that is given up and sent again"(context) {
    const id = await webhookOf(context, five);
    await context.call("webhooks.test", { id });
    await later(context, "3h");
    await context.call("webhooks.redeliver", { id, dlv: await newest(context, id) });
    await later(context, "1s");
  },
  async "a webhook that rests"(context) {
    const { call } = context;
    const id = await webhookOf(context, [500, 500]);
    for (const again of ["redeliver", "recover"]) {
      await call("webhooks.test", { id });
      await later(context, "1s");
      await call("webhooks.update", { id }, { status: "inactive" });
      if (again === "redeliver") await call("webhooks.redeliver", { id, dlv: await newest(context, id) });
      else await call("webhooks.recover", { id }, { since: "2026-01-01T00:00:00Z" });
      await later(context, "1s");
      await call("webhooks.update", { id }, { status: "active" });
    }
  },
  async "a receiver that is silent"(context) {
    const id = await webhookOf(context, [{ timeout: true }, { timeout: true }]);
    await context.call("webhooks.test", { id });
    await later(context, "1m");
  },
  async "a webhook that is deleted while it is asked"(context) {
    const id = await webhookOf(context, [{ timeout: true }]);
    await context.call("webhooks.test", { id });
    await later(context, "1s");
    await context.call("webhooks.delete", { id });
    const other = await webhookOf(context, []);
    await context.call("webhooks.test", { id: other });
    await later(context, "1s");
    await context.call("webhooks.redeliver", { id: other, dlv: await newest(context, other) });
    await context.call("webhooks.delete", { id: other });
    await later(context, "1m");
  },
  "much time": (context) => later(context, "25h"),
};

/** Creates webhooks, integrations and keys up to the limit, and one more. */
const limits: Step = async ({ call }) => {
  const hook = (n: number) => `https://n${n}.inbox.test/`;
  const made: [operation: string, id: string][] = [];
  const make = async (id: string, body: object) => {
    const { status, body: record } = await call(id, {}, body, "stranger");
    if (status === 201) made.push([id.replace("create", id === "keys.create" ? "revoke" : "delete"), record.id]);
  };
  for (let n = 0; n <= 100; n++) {
    await make("webhooks.create", { url: hook(n), events: ["user.removed"] });
    await make("integrations.create", { type: "custom", config: { url: hook(n), events: ["user.removed"] } });
    await make("keys.create", { name: `key ${n}` });
  }
  for (const [id, record] of made) await call(id, { id: record }, undefined, "stranger");
};

const busyWebhook: Step = async (context) => {
  const id = await webhookOf(context, []);
  for (let i = 0; i < 120; i++) await context.call("webhooks.test", { id });
  await context.call("webhooks.delete", { id });
};

/** Each creates hundreds of records. */
const large: Record<string, Step> = {
  "as many as there may be": limits,
  "a webhook with many deliveries": busyWebhook,
};
/** Steps that run among random calls, at the same time as others. */
export const moreSteps: Readonly<Record<string, Step>> = { ...conflicts, ...work, ...receivers };

/** A share of all steps, another with each seed; they run alone, so each runs to its end. */
export const heavySteps = (seed: number): readonly Step[] => [
  ...Object.values(moreSteps).filter((_, at) => at % 5 === seed % 5),
  ...Object.values(large).filter((_, at) => at * 10 === seed % 25),
];

/** For each kind of job, a step that leads to it. */
export const stepTo: Readonly<Record<string, Step | undefined>> = {
  "projects.clear": work["a project with a long log"],
  "deployments.turns": allSteps["deployments.cancel"],
  "deployments.advance": async (context) => {
    await deploy(context, await newProject(context));
    await later(context, "2s");
  },
  "previews.end": pullRequests,
  "deliveries.pump": allSteps["webhooks.test"],
  "deliveries.redeliver": async (context) => {
    const id = await webhookOf(context, []);
    await context.call("webhooks.test", { id });
    await later(context, "1s");
    await context.call("webhooks.redeliver", { id, dlv: await newest(context, id) });
  },
  "deliveries.end": receivers["a receiver that is silent"],
  "endpoints.clear": busyWebhook,
  "generations.turn": allSteps["generations.create"],
  // Only one: several that kill their process take turns, and each clears the crash counts of the others.
  "generations.advance": paint,
  "generations.cancel": async (context) => {
    const id = await paint(context);
    await context.call("generations.cancel", { id });
    await later(context, "1s");
  },
};
