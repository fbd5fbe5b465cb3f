import type { Client } from "../../lib/client.ts";
import { type Options, type SimulatedOutcome, simulatedDeployments } from "../../lib/index.ts";
import { expect, type Who, type World } from "./test-service.ts";
import { firstOf } from "./until.ts";

/** Helpers for tests of deployments and their events. */

type Script = NonNullable<Parameters<typeof simulatedDeployments>[0]>;

/** Options with a script for deployment outcomes. `more` are additional deployment options. */
export const withOutcomes = (script: Script, more: NonNullable<Options["deployments"]> = {}): Options => ({
  deployments: { ...more, driver: simulatedDeployments(script) },
});

/** A script with one outcome per branch: `{ broken: { result: "fail" } }`. */
export const byBranch =
  (outcomes: Readonly<Record<string, SimulatedOutcome>>): Script =>
  ({ source }) =>
    outcomes[source.branch ?? ""];

export const source = (branch: string) => ({ source: { type: "git", repo: "acme/web", branch } });

interface EventData {
  event: string;
  timestamp: string;
  data: Record<string, unknown>;
}

/** The events of `acme` with their data, oldest first, skipping the first `after`. */
export async function eventsOf(world: World, after = 0): Promise<EventData[]> {
  const { data } = expect(await world.call("owner", "GET", "/v1/events?per_page=100"), 200);
  return data
    .reverse()
    .slice(after)
    .map(({ id: _, ...event }: EventData & { id: string }) => event);
}

/** `created_by` of what a caller makes. */
export async function makerOf(world: World, who: Who, via = "api") {
  const { user, key } = expect(await world.call(who, "GET", "/v1/me"), 200);
  return { user_id: user.id, key_id: key.id, via };
}

/** A deployment's current state, without the response's meta. */
export async function deploymentNow(world: World, id: string, who: Who = "viewer") {
  const { meta: _, ...deployment } = expect(await world.call(who, "GET", `/v1/deployments/${id}`), 200);
  return deployment;
}

/**
 * A deployment once it has ended. One request waits for a minute at most, and a busy machine may take longer to build,
 * so it is repeated.
 */
export const endOf = ({ call }: Pick<World, "call">, who: Who, id: string) =>
  firstOf(async () => {
    const seen = expect(await call(who, "GET", `/v1/deployments/${id}?wait=60`), 200);
    return seen.completed_at === null ? undefined : seen;
  });

/** The same for a client. The log of one that has not gone live is shown if the test fails. */
export async function endSeenBy({ deployments }: Pick<Client, "deployments">, id: string) {
  const ended = await firstOf(async () => {
    const seen = await deployments.get({ id, wait: 60 });
    return seen.completed_at === null ? undefined : seen;
  });
  if (ended.status !== "active")
    process.stderr.write(`${id}: ${JSON.stringify((await deployments.logs({ id })).data)}\n`);
  return ended;
}

/** The states of several deployments, in the given order. */
export const states = async (world: World, ...deployments: { id: string }[]): Promise<string[]> =>
  Promise.all(deployments.map(async ({ id }) => (await deploymentNow(world, id)).status));

/** Deploys and advances the clock by the default six seconds. */
export async function deployAndFinish(world: World, project_id: string, more: object = {}) {
  const { id } = await world.deploy(project_id, more);
  await world.service.clock.advance("6s");
  return deploymentNow(world, id);
}

/** The lines in a deployment's log. */
export async function logOf(
  world: World,
  id: string,
): Promise<{ level: string; message: string; timestamp: string }[]> {
  return expect(await world.call("viewer", "GET", `/v1/deployments/${id}/logs`), 200).data;
}

export const pathsOf = (body: { error: { details: { path: string }[] } }) => body.error.details.map(({ path }) => path);

/** Blocks a driver until the test calls `open`. */
export function blocker() {
  let open = () => {};
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open };
}

/** Creates a project. Returns a function that tests a source with a deployment. */
export async function sourceTester(world: World) {
  const { id: project_id } = await world.project();
  return (source: unknown) =>
    world.call("developer", "POST", "/v1/deployments", { project_id, environment: "production", source });
}
