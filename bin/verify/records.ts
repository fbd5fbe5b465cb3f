import * as v from "valibot";
import {
  type Answer,
  type Check,
  chapter,
  expect,
  expectStatus,
  field,
  type Item,
  itemsOf,
  type Probe,
  recordIn,
  recordOf,
  shown,
  Untried,
} from "./check.ts";
import * as shape from "./shapes.ts";

const terminal: readonly unknown[] = shape.terminal;
const projects = (on: Probe) => on.once("listed projects", () => on.get("/projects?per_page=100"));
const deployments = (on: Probe) => on.once("deployments", () => on.get("/deployments?per_page=100"));

/** The items of a list. Throws {Untried} if it is empty. */
async function someOf(answer: Answer | Promise<Answer>): Promise<readonly Item[]> {
  const items = itemsOf(await answer);
  if (items.length === 0) throw new Untried("the list is empty");
  return items;
}

/** Expects that each item of a list fits. `found` describes a wrong item. */
async function each(
  list: Answer | Promise<Answer>,
  fits: (item: Item) => boolean,
  found: (item: Item) => string,
): Promise<void> {
  for (const item of await someOf(list)) expect(fits(item), await list, found(item));
}

async function eachHas(schema: v.GenericSchema, list: Answer | Promise<Answer>): Promise<void> {
  for (const record of await someOf(list)) shape.expectShape(schema, { answer: await list, record });
}

const eachLacks = (name: string, list: Promise<Answer>) =>
  each(
    list,
    (item) => item[name] === undefined,
    ({ id }) => `${id} has the field ${name}`,
  );

/** Expects that a GET of the newest items returns the same fields as the list. */
async function getEquals(on: Probe, path: string, list: Promise<Answer>): Promise<void> {
  for (const item of (await someOf(list)).slice(0, 3)) {
    const answer = await on.get(`${path}/${item["id"]}`);
    expectStatus(answer, 200);
    const record = recordOf(answer);
    for (const [name, value] of Object.entries(item)) {
      const isSame = JSON.stringify(record[name]) === JSON.stringify(value);
      // A running deployment may change between the two requests.
      const mayMove = path === "/deployments" && !terminal.includes(item["status"]);
      expect(isSame || mayMove, answer, `${name} is ${shown(record[name])}, and ${shown(value)} in the list`);
    }
  }
}

const projectChecks = chapter("Projects", {
  "A project has id, name, region, description, status, created_at and updated_at": (on) =>
    eachHas(shape.project, projects(on)),
  "Names of projects are unique": async (on) => {
    const answer = await on.get("/projects?per_page=100");
    const names = (await someOf(answer)).map((item) => item["name"]);
    const twice = names.find((name, i) => names.indexOf(name) !== i);
    expect(twice === undefined, answer, `two projects are called ${shown(twice)}`);
  },
  "updated_at is not before created_at": (on) =>
    each(
      projects(on),
      ({ created_at, updated_at }) => Date.parse(String(created_at)) <= Date.parse(String(updated_at)),
      ({ id }) => `${id} was updated before it was created`,
    ),
  "GET /projects/{id} answers the project of the list": (on) => getEquals(on, "/projects", projects(on)),
});

/** Expects that a list filtered by an item's field contains that item, and only items with the same value. */
async function filtered(on: Probe, name: string, all: readonly Item[]): Promise<void> {
  for (const value of [...new Set(all.map((item) => item[name]))].slice(0, 3)) {
    const answer = await on.get(`/deployments?${name}=${encodeURIComponent(String(value))}`);
    const items = itemsOf(answer);
    const other = items.find((item) => item[name] !== value);
    expect(other === undefined, answer, `${other?.["id"]} has ${name} ${shown(other?.[name])}`);
    // Running work may have changed its status.
    const mayBeEmpty = name === "status" && !terminal.includes(value);
    expect(items.length > 0 || mayBeEmpty, answer, "the list lacks a deployment that has it");
  }
}

const deploymentChecks = chapter("Deployments", {
  "A deployment in a list has the documented fields": (on) => eachHas(shape.deploymentItem, deployments(on)),
  "A list of deployments leaves out the source": (on) => eachLacks("source", deployments(on)),
  "version is null while queued or building": async (on) => {
    // A rollback has its version from the start.
    for (const { id, status, version } of await someOf(deployments(on)))
      if ((status === "queued" || status === "building") && version !== null && !(await isRollback(on, String(id))))
        expect(false, await deployments(on), `${id} is ${status} with the version ${shown(version)}`);
  },
  "An active deployment has its version": (on) =>
    each(
      deployments(on),
      ({ status, version }) => status !== "active" || typeof version === "string",
      ({ id }) => `${id} is active without a version`,
    ),
  "completed_at is set in a terminal state, and null before": (on) =>
    each(
      deployments(on),
      ({ status, completed_at }) => terminal.includes(status) === (completed_at !== null),
      ({ id, status, completed_at }) => `${id} is ${status} with completed_at ${shown(completed_at)}`,
    ),
  "project_id, environment and status filter the list": async (on) => {
    const items = await someOf(deployments(on));
    for (const name of ["project_id", "environment", "status"]) await filtered(on, name, items);
  },
  "GET /deployments/{id} answers the deployment of the list": (on) => getEquals(on, "/deployments", deployments(on)),
  "GET /deployments/{id} includes the source, with null for fields that do not apply": async (on) => {
    for (const { id } of (await someOf(deployments(on))).slice(0, 3)) {
      shape.expectShape(shape.deployment, recordIn(await on.get(`/deployments/${id}`)));
    }
  },
  "GET /deployments/{id}/logs answers entries with timestamp, level and message": async (on) => {
    let entries = 0;
    for (const { id } of (await someOf(deployments(on))).slice(0, 3)) {
      const answer = await on.get(`/deployments/${id}/logs`);
      for (const record of itemsOf(answer)) shape.expectShape(shape.logEntry, { answer, record });
      entries += itemsOf(answer).length;
    }
    if (entries === 0) throw new Untried("the logs of the newest deployments are empty");
  },
});

/** Whether a deployment is a rollback: an older deployment of its environment has the same version. */
async function isRollback(on: Probe, id: string): Promise<boolean> {
  const items = itemsOf(await deployments(on));
  const own = items.find((item) => item["id"] === id);
  return items.some(
    (item) => item["id"] !== id && item["version"] === own?.["version"] && item["environment"] === own?.["environment"],
  );
}

const users = (on: Probe) => on.once("users", () => on.get("/users"));
const userChecks = chapter("Users", {
  "A user has id, name, email, role, status and joined_at": (on) => eachHas(shape.user, users(on)),
  "GET /users lists active members alone": (on) => eachHas(v.looseObject({ status: v.literal("active") }), users(on)),
  "An organization has at least one owner": async (on) => {
    const list = await someOf(users(on));
    expect(
      list.some(({ role }) => role === "owner"),
      await users(on),
      "nobody is owner",
    );
  },
  "GET /users/{id} answers the user of the list": (on) => getEquals(on, "/users", users(on)),
});

const integrations = (on: Probe) => on.once("integrations", () => on.get("/integrations"));
/** Whether a value looks like a secret. Stored secrets must appear as a short word or a URL without path. */
const looksSecret = (value: unknown) =>
  typeof value === "string" && /[A-Za-z0-9_-]{16,}/.test(value.replace(/^https:\/\/[^/]*/, ""));
export const secretFields = ["api_key", "secret", "webhook_url", "token"] as const;

/** Throws {Differs} if a configuration contains a secret. */
export function expectRedacted(answer: Answer): void {
  const config = field(recordOf(answer), "config");
  for (const name of secretFields) expect(!looksSecret(field(config, name)), answer, `config.${name} is not redacted`);
}

const integrationChecks = chapter("Integrations", {
  "An integration has id, type, name, status and created_at": (on) => eachHas(shape.integrationItem, integrations(on)),
  "A list of integrations leaves out the config": (on) => eachLacks("config", integrations(on)),
  "GET /integrations/{id} answers the config, with its secrets redacted": async (on) => {
    for (const { id } of (await someOf(integrations(on))).slice(0, 5)) {
      const answer = await on.get(`/integrations/${id}`);
      shape.expectShape(shape.integration, recordIn(answer));
      expectRedacted(answer);
    }
  },
});

const webhooks = (on: Probe) => on.once("webhooks", () => on.get("/webhooks"));
const webhookChecks = chapter("Webhooks", {
  "A webhook has id, url, events, status and created_at; its url begins with https://": (on) =>
    eachHas(shape.webhook, webhooks(on)),
  "The secret of a webhook is write-only": (on) => eachLacks("secret", webhooks(on)),
});

export const records: readonly Check[] = [
  ...projectChecks,
  ...deploymentChecks,
  ...userChecks,
  ...integrationChecks,
  ...webhookChecks,
];
