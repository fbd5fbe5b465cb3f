import type { Answer, Client } from "../lib/client.ts";
import type { SimulatedOutcome } from "../lib/drivers/simulated-outcome.ts";
import { catalog, type EventName } from "../lib/events/catalog.ts";
import { systemTimer } from "../lib/kernel/clock.ts";
import { didYouMean } from "../lib/kernel/did-you-mean.ts";
import { createRandom } from "../lib/kernel/random.ts";
import { UsageError } from "./arguments.ts";
import { clientOf, connectionArgs, connectionOf, explainedError } from "./connection.ts";
import { type Control, controlOf } from "./control-client.ts";
import { command } from "./define-command.ts";
import { say } from "./output.ts";

type Deployment = Answer<"deployments.get">;

interface Emulator {
  readonly client: Client;
  readonly control: Control;
}

/** The project of all triggered deployments. */
const demo = { name: "svc-trigger", region: "eu-west-1", description: "Made by svc-server trigger" };
const environment = "trigger";

/** A name that no earlier run took. */
const unique = () => `svc-trigger-${createRandom().alphanumeric(8).toLowerCase()}`;

async function demoProject({ client }: Emulator): Promise<string> {
  for await (const { id, name, status } of client.paginate(client.projects.list, { per_page: 100 }))
    if (name === demo.name && status === "active") return id;
  return (await client.projects.create(demo)).id;
}

/** How often a deployment that waits for a slot is asked to move, and how long in between. */
const attempts = 100;
const pause = () => new Promise<void>((resolve) => void systemTimer("100ms", resolve, { hold: true }));

/** A deployment that moves by these steps alone, whatever the clock does, until it is in this state. */
async function deploy(emulator: Emulator, outcome: SimulatedOutcome, until: Deployment["status"]): Promise<Deployment> {
  const { client, control } = emulator;
  const project_id = await demoProject(emulator);
  // The branch is of this run alone, so that the scenario of a failed run decides about no other deployment.
  const source = { type: "git", repo: "acme/web", branch: unique() } as const;
  await control("POST scenarios", {
    match: { branch: source.branch },
    outcome: { ...outcome, pace: "manual" },
    times: 1,
  });
  let now: Deployment = await client.deployments.create({ project_id, environment, source });
  for (let left = attempts; now.status !== until && ["queued", "building", "deploying"].includes(now.status); left--) {
    if (left === 0)
      throw new Error(`the deployment ${now.id} is still ${now.status}; other deployments hold the slots`);
    const { status } = await control<Deployment>(`POST deployments/${now.id}/step`);
    if (status === now.status) await pause();
    now = { ...now, status };
  }
  if (now.status !== until) throw new Error(`the deployment ${now.id} is ${now.status} instead of ${until}`);
  return now;
}

/** The same, cancelled in that state: no later event follows. */
async function deployUntil(emulator: Emulator, until: "queued" | "building"): Promise<void> {
  const { id } = await deploy(emulator, {}, until);
  await emulator.client.deployments.cancel({ id });
}

const invite = ({ client }: Emulator, email: string) => client.users.invite({ email, role: "viewer" });

/** How each event is made to happen. */
const triggers: Readonly<Record<EventName, (emulator: Emulator) => Promise<unknown>>> = {
  "deployment.queued": (emulator) => deployUntil(emulator, "queued"),
  "deployment.started": (emulator) => deployUntil(emulator, "building"),
  "deployment.succeeded": (emulator) => deploy(emulator, {}, "active"),
  "deployment.failed": (emulator) => deploy(emulator, { result: "fail", message: "npm ERR! build failed" }, "failed"),
  async "deployment.rolled_back"(emulator) {
    // A failed health check rolls back to the release before, so there has to be one.
    await deploy(emulator, {}, "active");
    await deploy(emulator, { result: "rolled_back" }, "rolled_back");
  },
  "project.created": ({ client }) => client.projects.create({ ...demo, name: unique() }),
  async "project.deleted"({ client }) {
    const { id } = await client.projects.create({ ...demo, name: unique() });
    await client.projects.delete({ id });
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

/** The newest event of this name, younger than `before`. */
async function newest({ client }: Emulator, name: EventName, before: string) {
  for await (const event of client.paginate(client.events.list, { per_page: 20 })) {
    if (event.id <= before) break;
    if (event.event === name) return event;
  }
  throw new Error(`no event ${name} happened`);
}

export const trigger = command(
  "trigger",
  "Make an event happen in an emulator, in the project svc-trigger: svc-server trigger deployment.failed.",
  { event: { type: "positional", description: `The event: ${names.join(", ")}.` }, ...connectionArgs },
  async (args) => {
    const name = String(args["event"]);
    const near = didYouMean(name, names);
    if (!isEvent(name))
      throw new UsageError(`no event is called "${name}"${near ? `${near} There` : "; there"} are ${names.join(", ")}`);
    const connection = connectionOf(args);
    const emulator = { client: clientOf(connection), control: controlOf(args) };
    try {
      // Only an emulator answers: a service that is hosted for real must not be written to.
      await emulator.control("GET clock");
      const before = (await emulator.client.events.list({ per_page: 1 })).data[0]?.id ?? "";
      await triggers[name](emulator);
      const event = await newest(emulator, name, before);
      say(
        args["json"]
          ? JSON.stringify(event)
          : `${event.timestamp}  ${event.event}  ${event.id}  ${JSON.stringify(event.data)}`,
      );
    } catch (error) {
      throw explainedError(error, connection);
    }
  },
);
