import { asked, type Before, type Json, on, success } from "./verify-trial.ts";

/** Changes the items of a list. */
const items = (path: RegExp, change: (item: Json) => void) =>
  on(path, ({ body }) => {
    for (const one of body?.data ?? []) change(one);
  });
/** Adds missing fields to a creation. */
const filled = (path: RegExp, more: Json) => asked(path, ({ body }) => ({ body: { ...more, ...body } }));
const everyEvent = { events: ["*"] };

/** Servers with one fault each in the records that they return and accept. */
export const wrongRecords: Readonly<Record<string, readonly [string, Before]>> = {
  "removes what it does not have": [
    "An unknown project is not removed",
    on(/^DELETE \/projects\/proj_0{26}$/, (reply) => {
      reply.status = 204;
      reply.body = undefined;
      reply.text = "";
    }),
  ],
  "loses the tag of an image": [
    "An image is a source",
    on(/^POST \/deployments$/, ({ body }) => {
      if (body?.source?.image_url) body.source.image_url = body.source.image_url.replace(/:[^:]*$/, "");
    }),
  ],
  "cancels what is active": [
    "An active deployment cannot be cancelled",
    on(/\/cancel$/, (reply) => {
      if (reply.status === 409) success(reply, { id: "dep_1", status: "cancelled" });
    }),
  ],
  "does not complete what is active": [
    "An active deployment has completed_at and version",
    on(/^GET \/deployments\/dep_\w+$/, ({ body }) => {
      if (body?.status === "active") body.completed_at = null;
    }),
  ],
  "repeats an item of a filtered list": [
    "A list with per_page=1 leads through all deployments of a project",
    asked(/^GET \/deployments\?project_id.*cursor=/, ({ path }) => ({ path: path.replace(/&cursor=[^&]*/, "") })),
  ],
  "answers the secret of a new webhook": [
    "POST /webhooks answers an active webhook without its secret",
    on(/^POST \/webhooks$/, ({ body, status }, { body: sent }) => {
      if (status < 300) body.secret = sent["secret"];
    }),
  ],
  "does not know the star": [
    'events ["*"] subscribes to every event',
    on(/^POST \/webhooks$/, (reply, { body }) => {
      if (JSON.stringify(body["events"]) === '["*"]') success(reply, { error: { code: "validation_failed" } }, 422);
    }),
  ],
  "needs no events": ["url and events are required", filled(/^POST \/webhooks$/, everyEvent)],
  "forgets the repository": [
    "A code host integration deploys a branch to an environment",
    on(/^POST \/integrations$/, ({ body, status }) => {
      if (status < 300) body.config.repo = undefined;
    }),
  ],
  "takes integrations without a type": [
    "An unknown type, and a config that breaks its rules, are refused",
    filled(/^POST \/integrations$/, { type: "custom" }),
  ],
  "keeps removed integrations": [
    "DELETE /integrations/{id} answers 204 without a body, and the integration is gone",
    asked(/^DELETE \/integrations/, ({ path }) => ({ method: "GET", path })),
  ],
  "invites without an address": [
    "An invitation needs an e-mail address and one of the four roles",
    filled(/^POST \/users\/invite$/, { email: "somebody@example.invalid" }),
  ],
  "calls an environment stage": [
    "A deployment in a list has the documented fields",
    items(/^GET \/deployments\?per_page=100$/, (one) => {
      delete one["environment"];
    }),
  ],
  "lists a version too early": [
    "version is null while queued or building",
    items(/^GET \/deployments\?per_page=100$/, (one) => {
      Object.assign(one, { status: "building", version: one["id"] });
    }),
  ],
  "lists an active deployment without a version": [
    "An active deployment has its version",
    items(/^GET \/deployments\?per_page=100$/, (one) => {
      one["version"] = null;
    }),
  ],
  "shows another environment in a list": [
    "GET /deployments/{id} answers the deployment of the list",
    on(/^GET \/deployments\/dep_\w+$/, ({ body }) => {
      body.environment += "-1";
    }),
  ],
  "leaves the tag out of a source": [
    "GET /deployments/{id} includes the source, with null for fields that do not apply",
    on(/^GET \/deployments\/dep_\w+$/, ({ body }) => {
      delete body.source.tag;
    }),
  ],
  "shows another role of a user": [
    "GET /users/{id} answers the user of the list",
    on(/^GET \/users\/usr_/, ({ body }) => {
      body.role = "admin";
      body.name += "!";
    }),
  ],
  "has integrations of no type": [
    "An integration has id, type, name, status and created_at",
    items(/^GET \/integrations$/, (one) => {
      delete one["type"];
    }),
  ],
  "shows the secret of a stored integration": [
    "GET /integrations/{id} answers the config, with its secrets redacted",
    on(/^GET \/integrations\/int_\w+$/, ({ body }) => {
      if (body?.config) body.config.secret = "demo-secret-0123456789abcdef";
    }),
  ],
  "stores plain http": [
    "A webhook has id, url, events, status and created_at; its url begins with https://",
    items(/^GET \/webhooks$/, (one) => {
      one["url"] = String(one["url"]).replace("https:", "http:");
    }),
  ],
};
