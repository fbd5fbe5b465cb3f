import { createRandom } from "../../lib/kernel/random.ts";
import {
  type Answer,
  type Check,
  changes,
  expect,
  expectRefusal,
  expectStatus,
  idOf,
  itemsOf,
  type Probe,
  recordOf,
  shown,
  unknownId,
} from "./check.ts";
import * as shape from "./shapes.ts";

export type Item = Readonly<Record<string, unknown>>;

/** A new, unused name. */
export const unique = () => `svc-verify-${createRandom().alphanumeric(10).toLowerCase()}`;

/** Accepts any 2xx, because the documentation does not say which one a creation returns. */
export function expectSuccess(answer: Answer): Item {
  expect(answer.status >= 200 && answer.status < 300, answer, "expected a success");
  return recordOf(answer);
}

/** A valid region: from another project, from a list of common names, or from the text of a refusal. */
async function regionOf(on: Probe): Promise<string> {
  const known = itemsOf(await on.get("/projects?per_page=1"))[0]?.["region"];
  return typeof known === "string" ? known : "eu-west-1";
}

/** Creates this trial's project and registers its removal at the end. Returns it with the response. */
const created = (on: Probe) =>
  on.once("own project", async () => {
    const region = await regionOf(on);
    const answer = await on.send("POST", "/projects", { body: { name: unique(), region } });
    const record = expectSuccess(answer);
    on.atEnd(() => on.send("DELETE", `/projects/${record["id"]}`));
    return { answer, record };
  });
export const ownProject = async (on: Probe): Promise<Item> => (await created(on)).record;

/** Updates this trial's project. */
const put = async (on: Probe, body: unknown) => on.send("PUT", `/projects/${(await ownProject(on))["id"]}`, { body });

/** Expects the server to refuse a creation. If the server accepts it, the record is removed. */
export async function refuses(on: Probe, path: string, body: Item, why: string): Promise<void> {
  const answer = await on.send("POST", path, { body });
  const id = idOf(answer);
  if (answer.status < 300 && typeof id === "string") on.atEnd(() => on.send("DELETE", `${path}/${id}`));
  expectRefusal(answer, why);
}

export const projectWrites: readonly Check[] = changes("Projects", {
  "POST /projects answers an active project": async (on) => {
    const { answer, record: own } = await created(on);
    shape.expectShape(shape.project, own, answer);
    expect(own["status"] === "active", answer, `status is ${shown(own["status"])}`);
    expect(
      own["description"] === null,
      answer,
      `description is ${shown(own["description"])}, expected null when unset`,
    );
  },
  "The name of a new project has 3 to 64 characters": async (on) => {
    const region = (await ownProject(on))["region"];
    await refuses(on, "/projects", { name: "ab", region }, "the name has 2 characters");
    await refuses(on, "/projects", { name: "x".repeat(65), region }, "the name has 65 characters");
    expectStatus(await put(on, { name: `${unique()}-`.padEnd(64, "x") }), 200);
  },
  "name and region are required": async (on) => {
    await refuses(on, "/projects", { region: (await ownProject(on))["region"] }, "the name is missing");
    await refuses(on, "/projects", { name: unique() }, "the region is missing");
  },
  "A name that another project has is refused": async (on) => {
    const { id, region } = await ownProject(on);
    const { name } = recordOf(await on.get(`/projects/${id}`));
    await refuses(on, "/projects", { name: String(name), region }, "another project has this name");
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
    await refuses(on, "/projects", { name: unique(), region, description }, "the description has 256 characters");
    expectStatus(await put(on, { description: "d".repeat(255) }), 200);
    expectRefusal(await put(on, { description: "d".repeat(256) }), "the description has 256 characters");
  },
  "An empty description clears it": async (on) => {
    expectStatus(await put(on, { description: "a description" }), 200);
    const answer = await put(on, { description: "" });
    const description = expectSuccess(answer)["description"];
    expect(description === null, answer, `description is ${shown(description)}, expected null`);
  },
  "An update keeps the fields that it leaves out": async (on) => {
    const name = unique();
    expectStatus(await put(on, { name, description: "kept" }), 200);
    const answer = await put(on, { name });
    const description = expectSuccess(answer)["description"];
    expect(description === "kept", answer, `description is ${shown(description)}, and was "kept"`);
  },
  "An update refreshes updated_at": async (on) => {
    const before = expectSuccess(await put(on, { description: "one" }))["updated_at"];
    await on.pause(1_100);
    const answer = await put(on, { description: "two" });
    const after = expectSuccess(answer)["updated_at"];
    expect(Date.parse(String(after)) > Date.parse(String(before)), answer, `updated_at stays ${shown(before)}`);
  },
  "The region cannot be changed": async (on) => {
    const { id, region } = await ownProject(on);
    const answer = await put(on, { region: `${region}-other` });
    const now = await on.get(`/projects/${id}`);
    expect(
      recordOf(now)["region"] === region,
      now,
      `the region became ${shown(recordOf(now)["region"])} after a PUT that answered ${answer.status}`,
    );
  },
  "A removed project is gone: DELETE answers 204 without a body": async (on) => {
    const { region } = await ownProject(on);
    const { id } = expectSuccess(await on.send("POST", "/projects", { body: { name: unique(), region } }));
    on.atEnd(() => on.send("DELETE", `/projects/${id}`));
    const source = { type: "git", repo: "svc-verify/app", branch: "main" };
    const made = await on.send("POST", "/deployments", { body: { project_id: id, environment: "verify", source } });
    const deployment = idOf(made);
    const answer = await on.send("DELETE", `/projects/${id}`);
    expectStatus(answer, 204);
    expect(answer.text === "", answer, `the body is ${shown(answer.text)}`);
    expectRefusal(await on.get(`/projects/${id}`), "the project was removed");
    if (made.status < 300) expectRefusal(await on.get(`/deployments/${deployment}`), "its project was removed");
  },
  "An unknown project is not removed": async (on) =>
    expectRefusal(await on.send("DELETE", `/projects/proj_${unknownId}`), "nothing has this identifier"),
});
