import { createRandom } from "../../lib/kernel/random.ts";
import {
  type Answer,
  type Check,
  changes,
  expect,
  expectFields,
  expectRefusal,
  expectRemoval,
  expectStatus,
  expectSuccess,
  type Item,
  idOf,
  itemsOf,
  type Made,
  type Probe,
  recordIn,
  recordOf,
  unknownId,
} from "./check.ts";
import * as shape from "./shapes.ts";

export const unique = () => `svc-verify-${createRandom().alphanumeric(10).toLowerCase()}`;

/** Creates a record, and registers its removal at the end. */
export async function make(on: Probe, path: string, body: Item, removal = path): Promise<Made> {
  const made = expectSuccess(await on.send("POST", path, { body }));
  on.atEnd(() => on.send("DELETE", `${removal}/${made.record["id"]}`));
  return made;
}

async function regionOf(on: Probe): Promise<string> {
  const region = itemsOf(await on.get("/projects?per_page=1"))[0]?.["region"];
  return typeof region === "string" ? region : "eu-west-1";
}

const created = (on: Probe) =>
  on.once("own project", async () => {
    const region = await regionOf(on);
    return make(on, "/projects", { name: unique(), region });
  });
export const ownProject = async (on: Probe): Promise<Item> => (await created(on)).record;

const put = async (on: Probe, body: unknown) => on.send("PUT", `/projects/${(await ownProject(on))["id"]}`, { body });

/** Expects that an update succeeds, and that the project then has the values of `wanted`. */
async function updates(on: Probe, body: unknown, wanted: Item = {}): Promise<Item> {
  const made = expectSuccess(await put(on, body));
  expectFields(made, wanted);
  return made.record;
}

/** Expects the server to refuse each creation. The keys are the reasons. Accepted records are removed at the end. */
export async function refuses(
  on: Probe,
  path: string,
  bodies: Readonly<Record<string, Item>>,
  removal = path,
): Promise<void> {
  for (const [why, body] of Object.entries(bodies)) {
    const answer = await on.send("POST", path, { body });
    const id = idOf(answer);
    if (answer.status < 300 && typeof id === "string") on.atEnd(() => on.send("DELETE", `${removal}/${id}`));
    expectRefusal(answer, why);
  }
}

export const projectWrites: readonly Check[] = changes("Projects", {
  "POST /projects answers an active project": async (on) => {
    shape.expectShape(shape.project, await created(on), { status: "active", description: null });
  },
  "The name of a new project has 3 to 64 characters": async (on) => {
    const { region } = await ownProject(on);
    await refuses(on, "/projects", {
      "the name has 2 characters": { name: "ab", region },
      "the name has 65 characters": { name: "x".repeat(65), region },
    });
    expectStatus(await put(on, { name: `${unique()}-`.padEnd(64, "x") }), 200);
  },
  "name and region are required": async (on) => {
    const { region } = await ownProject(on);
    await refuses(on, "/projects", { "the name is missing": { region }, "the region is missing": { name: unique() } });
  },
  "A name that another project has is refused": async (on) => {
    const { id, region } = await ownProject(on);
    const { name } = recordOf(await on.get(`/projects/${id}`));
    await refuses(on, "/projects", { "another project has this name": { name, region } });
    const other = itemsOf(await on.get("/projects?per_page=100")).find((item) => item["id"] !== id);
    if (other) expectRefusal(await put(on, { name: other["name"] }), "another project has this name");
  },
  "An update takes no name outside of 3 to 64 characters": async (on) => {
    expectRefusal(await put(on, { name: "ab" }), "the name has 2 characters");
    expectRefusal(await put(on, { name: "x".repeat(65) }), "the name has 65 characters");
  },
  "A description has at most 255 characters": async (on) => {
    const { region } = await ownProject(on);
    const description = "d".repeat(256);
    await refuses(on, "/projects", { "the description has 256 characters": { name: unique(), region, description } });
    expectStatus(await put(on, { description: "d".repeat(255) }), 200);
    expectRefusal(await put(on, { description }), "the description has 256 characters");
  },
  "An empty description clears it": async (on) => {
    expectStatus(await put(on, { description: "a description" }), 200);
    await updates(on, { description: "" }, { description: null });
  },
  "An update keeps the fields that it leaves out": async (on) => {
    const name = unique();
    expectStatus(await put(on, { name, description: "kept" }), 200);
    await updates(on, { name }, { description: "kept" });
  },
  "An update refreshes updated_at": async (on) => {
    const { updated_at: before } = await updates(on, { description: "one" });
    await on.pause(1_100);
    const { updated_at: now } = await updates(on, { description: "two" });
    expect(Date.parse(String(now)) > Date.parse(String(before)), on.last as Answer, `updated_at stays ${before}`);
  },
  "The region cannot be changed": async (on) => {
    const { id, region } = await ownProject(on);
    await put(on, { region: `${region}-other` });
    expectFields(recordIn(await on.get(`/projects/${id}`)), { region });
  },
  "A removed project is gone: DELETE answers 204 without a body": async (on) => {
    const { region } = await ownProject(on);
    const { id } = (await make(on, "/projects", { name: unique(), region })).record;
    const source = { type: "git", repo: "svc-verify/app", branch: "main" };
    const made = await on.send("POST", "/deployments", { body: { project_id: id, environment: "verify", source } });
    expectRemoval(await on.send("DELETE", `/projects/${id}`));
    expectRefusal(await on.get(`/projects/${id}`), "the project was removed");
    if (made.status < 300) expectRefusal(await on.get(`/deployments/${idOf(made)}`), "its project was removed");
  },
  "An unknown project is not removed": async (on) =>
    expectRefusal(await on.send("DELETE", `/projects/proj_${unknownId}`), "nothing has this identifier"),
});
