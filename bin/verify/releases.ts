import { type Answer, expectSuccess, type Item, type Made, type Probe, Untried, waitFor } from "./check.ts";
import { ownProject, unique } from "./own-project.ts";

export const git = { type: "git", repo: "svc-verify/app", branch: "main" } as const;
export async function post(on: Probe, body: Item): Promise<Answer> {
  const { id: project_id } = await ownProject(on);
  return on.send("POST", "/deployments", { body: { project_id, environment: "verify", source: git, ...body } });
}

export const create = async (on: Probe, body: Item = {}): Promise<Made> => expectSuccess(await post(on, body));

/** Waits until a deployment has left all of these states. */
export const after = (on: Probe, id: unknown, ...states: readonly string[]) =>
  waitFor(on, `/deployments/${id}`, (status) => !states.includes(status));
const ended = (on: Probe, id: unknown) => after(on, id, "queued", "building", "deploying");

/** Creates an active deployment. Throws {Untried} if it does not become active. */
async function activeWith(on: Probe, body: Item): Promise<Item> {
  const { record } = await ended(on, (await create(on, body)).record["id"]);
  if (record["status"] !== "active")
    throw new Untried(`deployments of svc-verify/app end as ${record["status"]} here, so none becomes active`);
  return record;
}
/** The trial's first release. It is built from a tag, so its version is known. */
export const firstRelease = (on: Probe) =>
  on.once("first release", () => activeWith(on, { environment: "live", source: { ...git, tag: "v1.0.0" } }));
export const secondRelease = (on: Probe) =>
  on.once("second release", async () => {
    await firstRelease(on);
    return activeWith(on, { environment: "live", source: { ...git, tag: "v2.0.0" } });
  });

export const order = ["queued", "building", "deploying", "active"];
/** A deployment as it appeared in each state after the first. */
export const observed = (on: Probe) =>
  on.once("observed deployment", async () => {
    const { record } = await create(on, { environment: unique() });
    const seen: Made[] = [];
    for (let state = "queued"; order.slice(0, 3).includes(state); state = String(seen.at(-1)?.record["status"]))
      seen.push(await after(on, record["id"], state));
    return seen;
  });

export const rollback = (on: Probe, id: unknown) => on.send("POST", `/deployments/${id}/rollback`);
export const restoredRelease = (on: Probe) =>
  on.once("restored release", async () => {
    const { id } = await secondRelease(on);
    return ended(on, expectSuccess(await rollback(on, id)).record["id"]);
  });

export const cancel = (on: Probe, id: unknown) => on.send("POST", `/deployments/${id}/cancel`);
