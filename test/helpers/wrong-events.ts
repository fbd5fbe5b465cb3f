import { asked, type Before, type Json, on, success } from "./verify-trial.ts";

/** Changes the deliveries in the inbox. */
const caught = (change: (delivery: { headers: Record<string, string>; body: string }) => void): Before =>
  on(/^GET \/_svc\/inbox/, ({ body }) => {
    for (const one of body?.data ?? []) change(one);
  });
const payloads = (change: (payload: Json & { data: Json }) => void) =>
  caught((one) => {
    const payload = JSON.parse(one.body);
    change(payload);
    one.body = JSON.stringify(payload);
  });

/** Servers with one fault each in events, in state changes of deployments, or in answers outside the checks. */
export const wrongEvents: Readonly<Record<string, readonly [string, Before]>> = {
  "does not tell of rollbacks": [
    "The events of a deployment and of a project are sent",
    on(/^GET \/_svc\/inbox/, ({ body }) => {
      if (body) body.data = body.data.filter((one: { body: string }) => !one.body.includes("rolled_back"));
    }),
  ],
  "sends Unix timestamps": [
    "A payload is JSON with event, timestamp and data",
    payloads((payload) => {
      payload["timestamp"] = 1_767_225_600;
    }),
  ],
  "sends forms": [
    "A payload is JSON with event, timestamp and data",
    caught(({ headers }) => {
      headers["content-type"] = "application/x-www-form-urlencoded";
    }),
  ],
  "does not tell which version succeeded": [
    "data of deployment.succeeded has deployment_id, project_id, environment and version",
    payloads(({ data }) => {
      delete data["version"];
    }),
  ],
  "signs another text than it sends": [
    "X-Service-Signature is sha256= with the HMAC-SHA256 of the raw body, keyed with the secret",
    caught((one) => {
      one.body += "\n";
    }),
  ],
  "signs without a prefix": [
    "X-Service-Signature is sha256= with the HMAC-SHA256 of the raw body, keyed with the secret",
    caught(({ headers }) => {
      headers["x-service-signature"] = String(headers["x-service-signature"]).replace("sha256=", "");
    }),
  ],
  "signs without a secret": [
    "A webhook without a secret gets no X-Service-Signature",
    caught(({ headers }) => {
      headers["x-service-signature"] ??= "sha256=0";
    }),
  ],
  "cancels without a trace": [
    "A cancel changes updated_at",
    on(/\/cancel$/, ({ body }) => {
      if (body?.created_at) body.updated_at = body.created_at;
    }),
  ],
  "cancels nothing that builds": [
    "A building deployment can be cancelled",
    async (request, serve) => {
      const [, path = ""] = /^(\/deployments\/\w+)\/cancel$/.exec(request.path) ?? [];
      const now = path === "" ? undefined : await serve({ ...request, method: "GET", path });
      const reply = await serve(now?.body?.status === "building" ? { ...request, method: "GET", path } : request);
      if (now?.body?.status === "building") success(reply, { error: { code: "not_cancellable" } }, 409);
      return reply;
    },
  ],
  "knows the version before the build": [
    "version is null until the build has ended, and completed_at until the end",
    on(/^GET \/deployments\/dep_\w+$/, ({ body }) => {
      if (body?.status === "building") body.version = "main";
    }),
  ],
  "completes before the end": [
    "version is null until the build has ended, and completed_at until the end",
    on(/^GET \/deployments\/dep_\w+$/, ({ body }) => {
      if (body?.status === "deploying") body.completed_at = body.updated_at;
    }),
  ],
  "rolls back and fails": [
    "The deployment of a rollback follows the normal lifecycle",
    (() => {
      const made = new Set<unknown>();
      return async (request, serve) => {
        const reply = await serve(request);
        if (/\/rollback$/.test(request.path)) made.add(reply.body?.id);
        else if (made.has(reply.body?.id) && reply.body.status === "active") reply.body.status = "failed";
        return reply;
      };
    })(),
  ],
  "updates to a name twice": [
    "A name that another project has is refused",
    on(/^PUT \/projects/, (reply) => {
      if (reply.status === 409) success(reply, { id: "proj_1" });
    }),
  ],
  "invites for 30 days": [
    "An invitation expires 7 days after its creation, and is not listed as a user",
    on(/^POST \/users\/invite$/, ({ body }) => {
      if (body?.invited_at) body.expires_at = new Date(Date.parse(body.invited_at) + 30 * 86_400_000).toISOString();
    }),
  ],
  "lists the invited": [
    "An invitation expires 7 days after its creation, and is not listed as a user",
    (() => {
      const invited: Json[] = [];
      return async (request, serve) => {
        const reply = await serve(request);
        if (request.path === "/users/invite" && reply.status === 201) invited.push(reply.body);
        if (request.path === "/users" && reply.body?.data) reply.body.data.push(...invited);
        return reply;
      };
    })(),
  ],
  "shows the key of a monitoring provider": [
    "The API key of a monitoring provider is redacted",
    on(/^POST \/integrations$/, ({ body, status }, { body: sent }) => {
      const config = sent["config"] as Json | undefined;
      if (status < 300 && config?.["api_key"]) body.config.api_key = config["api_key"];
    }),
  ],
  "wants a key for a download": [
    "output.url is a direct link to the image or video",
    on(/^GET \/assets\//, (reply) => {
      reply.status = 401;
    }),
  ],
  "serves a picture as text": [
    "output.url is a direct link to the image or video",
    on(/^GET \/assets\//, ({ headers }) => headers.set("content-type", "text/plain")),
  ],
  "has no rate-limit headers on deletions": [
    "X-RateLimit-Limit, -Remaining and -Reset are on every response",
    on(/^DELETE/, ({ headers }) => headers.delete("x-ratelimit-remaining")),
  ],
  "lacks request ids of creations": [
    "meta.request_id is present on every response with a body",
    on(/^POST \/webhooks$/, ({ body }) => {
      if (body?.meta) delete body.meta.request_id;
    }),
  ],
  "ignores the environment of a filter": [
    "The filters find a new deployment",
    asked(/^GET \/deployments\?project_id=.*environment=/, ({ path }) => ({
      path: path.replace(/environment=[^&]*/, ""),
    })),
  ],
};
