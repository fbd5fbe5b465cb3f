import { asked, type Before, type Json, on, success } from "./verify-trial.ts";

/** Servers with one fault each in deployments, and the sentence that detects it. */
export const wrongDeployments: Readonly<Record<string, readonly [string, Before]>> = {
  "begins deployments at once": [
    "POST /deployments answers a queued deployment with version and completed_at null, and its whole source",
    on(/^POST \/deployments$/, ({ body, status }) => {
      if (status < 300) body.status = "building";
    }),
  ],
  "leaves fields out of a source": [
    "POST /deployments answers a queued deployment with version and completed_at null, and its whole source",
    on(/^POST \/deployments$/, ({ body, status }) => {
      if (status < 300) delete body.source.image_url;
    }),
  ],
  "takes a source without a repo": [
    "repo is required for git, image_url for an image, and type for both",
    asked(/^POST \/deployments$/, ({ body }) => ({
      body: { ...body, source: { repo: "a/b", ...(body["source"] as Json) } },
    })),
  ],
  "takes URLs of repositories": [
    "repo has the form owner/repo",
    asked(/^POST \/deployments$/, ({ body }) => ({
      body: JSON.parse(JSON.stringify(body).replace("https://example.com/", "")),
    })),
  ],
  "needs no environment": [
    "project_id, environment and source are required",
    asked(/^POST \/deployments$/, ({ body }) => ({ body: { environment: "x", ...body } })),
  ],
  "shows sources in a list": [
    "A list of deployments leaves out the source",
    on(/^GET \/deployments\?/, ({ body }) => {
      for (const one of body?.data ?? []) one.source = {};
    }),
  ],
  "completes no deployment": [
    "completed_at is set in a terminal state, and null before",
    on(/^GET \/deployments\?/, ({ body }) => {
      for (const one of body?.data ?? []) one.completed_at = null;
    }),
  ],
  "ignores filters": [
    "project_id, environment and status filter the list",
    asked(/^GET \/deployments\?environment=/, () => ({ path: "/deployments" })),
  ],
  "cancels twice": [
    "A cancelled deployment cannot be cancelled again",
    on(/\/cancel$/, (reply) => {
      if (reply.status === 409) success(reply, { id: "dep_1", status: "cancelled" });
    }),
  ],
  "does not complete what it cancels": [
    "A queued or building deployment can be cancelled",
    on(/\/cancel$/, ({ body }) => {
      if (body) body.completed_at = null;
    }),
  ],
  "takes the branch before the tag": [
    "A tag takes precedence over a branch",
    on(/^GET \/deployments\/dep_[^/]*$/, ({ body }) => {
      if (body?.version === "v1.0.0") body.version = "main";
    }),
  ],
  "goes back to queued": [
    "Only states of the documented order follow each other",
    (() => {
      const seen = new Set<unknown>();
      return async (request, serve) => {
        const reply = await serve(request);
        if (reply.body?.status === "deploying" && !seen.has(reply.body.id)) {
          seen.add(reply.body.id);
          reply.body.status = "queued";
        }
        return reply;
      };
    })(),
  ],
  "writes no logs": [
    "The log of a deployment that has ended has entries",
    on(/\/logs$/, ({ body }) => {
      body.data = [];
    }),
  ],
  "has levels of its own": [
    "GET /deployments/{id}/logs answers entries with timestamp, level and message",
    on(/\/logs$/, ({ body }) => {
      for (const one of body?.data ?? []) one.level = "trace";
    }),
  ],
  "rolls back to the same version": [
    "A rollback makes a new queued deployment with the previous version and its source",
    on(/\/rollback$/, ({ body }) => {
      if (body) body.version = "v2.0.0";
    }),
  ],
  "marks what it rolls back": [
    "A rollback does not modify the original deployment",
    (() => {
      let rollbacks = 0;
      return async (request, serve) => {
        const reply = await serve(request);
        if (/\/rollback$/.test(request.path)) rollbacks += 1;
        else if (/^\/deployments\/dep_\w+$/.test(request.path) && reply.status === 200)
          reply.body.version += `+${rollbacks}`;
        return reply;
      };
    })(),
  ],
  "rolls back to nothing": [
    "A rollback needs an earlier active version in the environment",
    on(/\/rollback$/, (reply) => {
      if (reply.status === 409) success(reply, { id: "dep_1" }, 201);
    }),
  ],
};

/** Servers with one fault each in users, integrations, webhooks or generations. */
export const wrongConnections: Readonly<Record<string, readonly [string, Before]>> = {
  "lists suspended users": [
    "GET /users lists active members alone",
    on(/^GET \/users$/, ({ body }) => {
      if (body?.data) body.data[0].status = "suspended";
    }),
  ],
  "has no owner": [
    "An organization has at least one owner",
    on(/^GET \/users$/, ({ body }) => {
      for (const one of body?.data ?? []) one.role = "admin";
    }),
  ],
  "knows more roles": [
    "A user has id, name, email, role, status and joined_at",
    on(/^GET \/users$/, ({ body }) => {
      if (body?.data) body.data[0].role = "root";
    }),
  ],
  "shows configs in a list": [
    "A list of integrations leaves out the config",
    on(/^GET \/integrations$/, ({ body }) => {
      for (const one of body?.data ?? []) one.config = {};
    }),
  ],
  "shows the secret of an integration": [
    "POST /integrations answers an active integration, with the secrets of its config redacted",
    on(/^POST \/integrations$/, ({ body, status }, { body: sent }) => {
      if (status < 300) body.config.secret = (sent["config"] as Json)["secret"];
    }),
  ],
  "shows the path of a chat": [
    "The webhook URL of a chat is redacted",
    on(/^POST \/integrations$/, ({ body, status }, { body: sent }) => {
      if (status < 300) body.config.webhook_url = (sent["config"] as Json)["webhook_url"];
    }),
  ],
  "shows the secret of a webhook": [
    "The secret of a webhook is write-only",
    on(/^GET \/webhooks$/, ({ body }) => {
      for (const one of body?.data ?? []) one.secret = "x";
    }),
  ],
  "takes plain http": [
    "A url that does not start with https:// is refused",
    asked(/^POST \/webhooks$/, ({ body }) => ({
      body: { ...body, ...(body["url"] ? { url: String(body["url"]).replace("http:", "https:") } : {}) },
    })),
  ],
  "keeps removed webhooks": [
    "DELETE /webhooks/{id} answers 204 without a body, and the webhook is gone",
    asked(/^DELETE \/webhooks/, ({ path }) => ({ method: "GET", path })),
  ],
  "takes every role": [
    "A role is one of the four roles",
    on(/^PUT \/users/, (reply) => {
      if (reply.status === 422) success(reply, { id: "usr_1" });
    }),
  ],
  "calls generations jobs": [
    "POST /generations answers a generation at once",
    on(/\/generations/, ({ body }) => {
      if (body?.object) body.object = "job";
    }),
  ],
  "needs no model": [
    "model is required",
    asked(/^POST \/generations$/, ({ body }) => ({ body: { model: "image-draft", ...body } })),
  ],
  "finishes without an output": [
    "A generation ends as completed or succeeded with its output and cost, or as failed with its error",
    on(/^GET \/generations\//, ({ body }) => {
      if (body) delete body.output;
    }),
  ],
};
