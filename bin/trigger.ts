import { type Answer, type Client, ClientProblem } from "../lib/client.ts";
import type { SimulatedOutcome } from "../lib/drivers/simulated-outcome.ts";
import { catalog, type EventName } from "../lib/features/events/catalog.ts";
import type { Scenario } from "../lib/features/scenarios/service.ts";
import { createRandom } from "../lib/kernel/random.ts";
import { didYouMean } from "../lib/kernel/text/did-you-mean.ts";
import { UsageError } from "./arguments.ts";
import { connectionArgs, connectionOf, withClient } from "./connection.ts";
import { type Control, controlOf } from "./control-client.ts";
import { command, word } from "./define-command.ts";
import { sayResult } from "./output.ts";
import { pause } from "./timers.ts";

type Deployment = Answer<"deployments.get">;

interface Emulator {
  readonly client: Client;
  readonly control: Control;
}

const demo = { name: "svc-trigger", region: "eu-west-1", description: "Created by svc-server trigger" };
const environment = "trigger";

const unique = () => `svc-trigger-${createRandom().alphanumeric(8).toLowerCase()}`;

/**
 * Creates a project in `demo`'s region. If the service refuses that region, uses the first one that the error lists.
 */
async function createProject({ client }: Emulator, name: string) {
  try {
    return await client.projects.create({ ...demo, name });
  } catch (error) {
    const details = error instanceof ClientProblem ? error.details : [];
    const rule = details.find(({ path }) => path === "region")?.message ?? "";
    const [, region] = /^must be one of ([^,]+)/.exec(rule) ?? [];
    if (region === undefined) throw error;
    return client.projects.create({ ...demo, name, region });
  }
}

/** The project of all triggered deployments, and whether this call created it. */
async function demoProject(emulator: Emulator): Promise<{ readonly id: string; readonly isNew: boolean }> {
  const { client } = emulator;
  for await (const { id, name, status } of client.paginate(client.projects.list, { per_page: 100 }))
    if (name === demo.name && status === "active") return { id, isNew: false };
  return { id: (await createProject(emulator, demo.name)).id, isNew: true };
}

function obstacleOf(id: string, before: readonly Scenario[], after: readonly Scenario[]): string {
  const taken = after.find(({ id, used }) => used > (before.find((one) => one.id === id)?.used ?? 0));
  return taken
    ? `the scenario ${taken.id} comes first and decides how the deployment ${id} ends; remove it, trigger the event, and add it again: svc-server scenarios remove ${taken.id}`
    : "deployments are not simulated here, so a trigger cannot decide how they end; it needs an emulator without --runtime";
}

/**
 * Creates a deployment with this outcome that advances only by explicit steps. If it gets another outcome, everything
 * is removed again.
 */
async function create(
  { client, control }: Emulator,
  project_id: string,
  outcome: SimulatedOutcome,
): Promise<Deployment> {
  // Each run uses a unique branch, so its scenario matches no other deployment.
  const source = { type: "git", repo: "acme/web", branch: unique() } as const;
  const scenarios = async () => (await control<{ data: Scenario[] }>("GET scenarios")).data;
  const before = await scenarios();
  const match = { branch: source.branch };
  const { id: scenario } = await control<Scenario>("POST scenarios", {
    match,
    outcome: { ...outcome, pace: "manual" },
  });
  try {
    const deployment = await client.deployments.create({ project_id, environment, source });
    const after = await scenarios();
    if (after.some(({ id, used }) => id === scenario && used > 0)) return deployment;
    await client.deployments.cancel({ id: deployment.id }).catch(() => {});
    throw new Error(obstacleOf(deployment.id, before, after));
  } finally {
    // The deployment has already taken the scenario and keeps its outcome.
    await control(`DELETE scenarios/${scenario}`);
  }
}

/** How often to step a deployment that waits for a slot. */
const attempts = 100;

/** Steps a deployment until it reaches this state. The clock does not move it. */
async function deploy(emulator: Emulator, outcome: SimulatedOutcome, until: Deployment["status"]): Promise<Deployment> {
  const { client, control } = emulator;
  const project = await demoProject(emulator);
  let now = await create(emulator, project.id, outcome).catch(async (error: unknown) => {
    if (project.isNew) await client.projects.delete({ id: project.id }).catch(() => {});
    throw error;
  });
  for (let left = attempts; now.status !== until && ["queued", "building", "deploying"].includes(now.status); left--) {
    if (left === 0)
      throw new Error(`the deployment ${now.id} is still ${now.status}; other deployments hold the slots`);
    const { status } = await control<Deployment>(`POST deployments/${now.id}/step`);
    if (status === now.status) await pause(100);
    now = { ...now, status };
  }
  if (now.status !== until) throw new Error(`the deployment ${now.id} is ${now.status} instead of ${until}`);
  return now;
}

/** Deploys up to that state, then cancels, so no later events follow. */
async function deployUntil(emulator: Emulator, until: "queued" | "building"): Promise<void> {
  const { id } = await deploy(emulator, {}, until);
  await emulator.client.deployments.cancel({ id });
}

async function generate({ client, control }: Emulator, result: "succeed" | "fail"): Promise<void> {
  // A unique model, so the scenario matches no other generation.
  const model = unique();
  const { id: scenario } = await control<Scenario>("POST scenarios", {
    match: { model },
    outcome: { result, pace: "manual" },
  });
  try {
    const { id } = await client.generations.create({ model, prompt: "a hill", resolution: "32x32" });
    await control(`POST generations/${id}/step`);
    await control(`POST generations/${id}/step`);
  } finally {
    await control(`DELETE scenarios/${scenario}`);
  }
}

const invite = ({ client }: Emulator, email: string) => client.users.invite({ email, role: "viewer" });

const triggers: Readonly<Record<EventName, (emulator: Emulator) => Promise<unknown>>> = {
  "app.crashed": async () => {
    throw new Error("only a running app crashes: with --runtime process, deploy an app that ends by itself");
  },
  "schedule.failed": async () => {
    throw new Error("only a running app has schedules: with --runtime process, deploy an app whose schedule fails");
  },
  "deployment.queued": (emulator) => deployUntil(emulator, "queued"),
  "deployment.started": (emulator) => deployUntil(emulator, "building"),
  "deployment.succeeded": (emulator) => deploy(emulator, {}, "active"),
  "deployment.failed": (emulator) => deploy(emulator, { result: "fail", message: "npm ERR! build failed" }, "failed"),
  async "deployment.rolled_back"(emulator) {
    // A failed health check rolls back to the previous release, so one must exist.
    await deploy(emulator, {}, "active");
    await deploy(emulator, { result: "rolled_back" }, "rolled_back");
  },
  "generation.completed": (emulator) => generate(emulator, "succeed"),
  "generation.failed": (emulator) => generate(emulator, "fail"),
  "project.created": (emulator) => createProject(emulator, unique()),
  async "project.deleted"(emulator) {
    const { id } = await createProject(emulator, unique());
    await emulator.client.projects.delete({ id });
  },
  "user.invited": (emulator) => invite(emulator, `${unique()}@example.com`),
  async "user.removed"(emulator) {
    const { client, control } = emulator;
    const email = `${unique()}@example.com`;
    await invite(emulator, email);
    const { data } = await control<{ data: { to: string; token: string }[] }>("GET mail");
    const token = data.find(({ to }) => to === email)?.token ?? "";
    const { id } = await client.invitations.accept({ token, name: "Triggered User" });
    await client.users.delete({ id });
  },
};

const names = Object.keys(catalog);
const isEvent = (name: string): name is EventName => names.includes(name);

async function newest({ client }: Emulator, name: EventName, before: string) {
  for await (const event of client.paginate(client.events.list, { per_page: 20 })) {
    if (event.id <= before) break;
    if (event.event === name) return event;
  }
  throw new Error(`no event ${name} happened`);
}

export const trigger = command(
  "trigger",
  "It makes the event happen, and prints it. Deployments run in the project svc-trigger, which the first use creates.",
  { event: word(`The event: ${names.join(", ")}.`), ...connectionArgs },
  async (args) => {
    const name = String(args["event"]);
    const near = didYouMean(name, names);
    if (!isEvent(name))
      throw new UsageError(
        `no event is called "${name}"${near ? `${near} The` : "; the"} events are ${names.join(", ")}`,
      );
    await withClient(connectionOf(args), async (client) => {
      const emulator = { client, control: controlOf(args) };
      // Only an emulator has a control interface, so this never writes to a hosted service.
      await emulator.control("GET clock");
      const before = (await client.events.list({ per_page: 1 })).data[0]?.id ?? "";
      await triggers[name](emulator);
      const event = await newest(emulator, name, before);
      sayResult(args, event, `${event.timestamp}  ${event.event}  ${event.id}  ${JSON.stringify(event.data)}`);
    });
  },
);
