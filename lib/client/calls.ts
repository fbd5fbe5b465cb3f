/**
 * Written by `npm run generate`: method and path of every operation, and `{}` where it takes a body. The typed client takes
 * its methods and their doc comments from here.
 */
export const calls = {
  projects: {
    /** List the projects, newest first. `GET /projects` with the scope `projects:read`. */
    list: "GET /projects",
    /** Create a project. `POST /projects` with the scope `projects:write`. */
    create: "POST /projects {}",
    /** Get a project. `GET /projects/{id}` with the scope `projects:read`. */
    get: "GET /projects/{id}",
    /** Change a project's name or description. `PUT /projects/{id}` with the scope `projects:write`. */
    update: "PUT /projects/{id} {}",
    /** Delete a project with everything in it. `DELETE /projects/{id}` with the scope `projects:write`. */
    delete: "DELETE /projects/{id}",
    /** Archive a project: it can be read, updated and deleted, and takes no deployments. `POST /projects/{id}/archive` with the scope `projects:write`. */
    archive: "POST /projects/{id}/archive",
    /** Bring an archived project back. `POST /projects/{id}/unarchive` with the scope `projects:write`. */
    unarchive: "POST /projects/{id}/unarchive",
  },
  environments: {
    /** List the environments of a project by name, with their variables; the values of secret ones never. `GET /projects/{id}/environments` with the scope `deployments:read`. */
    list: "GET /projects/{id}/environments",
    /** Give an environment its variables, all of them; makes it where there is none yet. `PUT /projects/{id}/environments/{name}` with the scope `deployments:write`. */
    put: "PUT /projects/{id}/environments/{name} {}",
    /** Delete an environment with its variables; its deployments stay, and a later one makes it anew. `DELETE /projects/{id}/environments/{name}` with the scope `deployments:write`. */
    delete: "DELETE /projects/{id}/environments/{name}",
  },
  deployments: {
    /** List the deployments, newest first, without their sources. `GET /deployments` with the scope `deployments:read`. */
    list: "GET /deployments",
    /** Deploy a Git repository or a container image into an environment. `POST /deployments` with the scope `deployments:write`. */
    create: "POST /deployments {}",
    /** Get a deployment with its source. `GET /deployments/{id}` with the scope `deployments:read`. */
    get: "GET /deployments/{id}",
    /** Read the build and rollout log, oldest entry first; follow=true goes on as Server-Sent Events. `GET /deployments/{id}/logs` with the scope `deployments:read`. */
    logs: "GET /deployments/{id}/logs",
    /** Deploy the version that was active before this deployment. `POST /deployments/{id}/rollback` with the scope `deployments:write`. */
    rollback: "POST /deployments/{id}/rollback",
    /** Cancel a deployment that is queued or building. `POST /deployments/{id}/cancel` with the scope `deployments:write`. */
    cancel: "POST /deployments/{id}/cancel",
  },
  users: {
    /** List the active members. `GET /users` with the scope `users:read`. */
    list: "GET /users",
    /** Get a user. `GET /users/{id}` with the scope `users:read`. */
    get: "GET /users/{id}",
    /** Change a user's role. `PUT /users/{id}` with the scope `users:write`. */
    update: "PUT /users/{id} {}",
    /** Remove a user and revoke their keys. `DELETE /users/{id}` with the scope `users:write`. */
    delete: "DELETE /users/{id}",
    /** Suspend a user: their keys stop at once. `POST /users/{id}/suspend` with the scope `users:write`. */
    suspend: "POST /users/{id}/suspend",
    /** Bring a suspended user back. `POST /users/{id}/reactivate` with the scope `users:write`. */
    reactivate: "POST /users/{id}/reactivate",
    /** Invite somebody by e-mail. `POST /users/invite` with the scope `users:write`. */
    invite: "POST /users/invite {}",
  },
  invitations: {
    /** List the invitations that are not accepted yet, expired ones for 30 days more. `GET /invitations` with the scope `users:read`. */
    list: "GET /invitations",
    /** Get an invitation. `GET /invitations/{id}` with the scope `users:read`. */
    get: "GET /invitations/{id}",
    /** Revoke an invitation. `DELETE /invitations/{id}` with the scope `users:write`. */
    revoke: "DELETE /invitations/{id}",
    /** Send an invitation again, with a new token and seven more days. `POST /invitations/{id}/resend` with the scope `users:write`. */
    resend: "POST /invitations/{id}/resend",
    /** Accept an invitation: makes the user, and shows a first API key this once. `POST /invitations/accept` with no key. */
    accept: "POST /invitations/accept {}",
  },
  integrations: {
    /** Connect an external tool. `POST /integrations` with the scope `integrations:write`. */
    create: "POST /integrations {}",
    /** List the integrations. `GET /integrations` with the scope `integrations:read`. */
    list: "GET /integrations",
    /** Delete an integration; what is pending stops at once. `DELETE /integrations/{id}` with the scope `integrations:write`. */
    delete: "DELETE /integrations/{id}",
    /** Get an integration. `GET /integrations/{id}` with the scope `integrations:read`. */
    get: "GET /integrations/{id}",
    /** Change an integration, or turn it on again. `PATCH /integrations/{id}` with the scope `integrations:write`. */
    update: "PATCH /integrations/{id} {}",
    /** Send a ping event. `POST /integrations/{id}/test` with the scope `integrations:write`. */
    test: "POST /integrations/{id}/test",
    /** List the deliveries with every try, newest first. `GET /integrations/{id}/deliveries` with the scope `integrations:read`. */
    deliveries: "GET /integrations/{id}/deliveries",
    /** Try one delivery once more, outside its ladder. `POST /integrations/{id}/deliveries/{dlv}/redeliver` with the scope `integrations:write`. */
    redeliver: "POST /integrations/{id}/deliveries/{dlv}/redeliver",
    /** Send every failed, abandoned or skipped delivery since an instant. `POST /integrations/{id}/recover` with the scope `integrations:write`. */
    recover: "POST /integrations/{id}/recover {}",
  },
  webhooks: {
    /** Register an HTTPS endpoint for events. `POST /webhooks` with the scope `webhooks:write`. */
    create: "POST /webhooks {}",
    /** List the webhooks. `GET /webhooks` with the scope `webhooks:read`. */
    list: "GET /webhooks",
    /** Delete a webhook; what is pending stops at once. `DELETE /webhooks/{id}` with the scope `webhooks:write`. */
    delete: "DELETE /webhooks/{id}",
    /** Get a webhook. `GET /webhooks/{id}` with the scope `webhooks:read`. */
    get: "GET /webhooks/{id}",
    /** Change a webhook, or turn it on again. `PATCH /webhooks/{id}` with the scope `webhooks:write`. */
    update: "PATCH /webhooks/{id} {}",
    /** Send a ping event. `POST /webhooks/{id}/test` with the scope `webhooks:write`. */
    test: "POST /webhooks/{id}/test",
    /** List the deliveries with every try, newest first. `GET /webhooks/{id}/deliveries` with the scope `webhooks:read`. */
    deliveries: "GET /webhooks/{id}/deliveries",
    /** Try one delivery once more, outside its ladder. `POST /webhooks/{id}/deliveries/{dlv}/redeliver` with the scope `webhooks:write`. */
    redeliver: "POST /webhooks/{id}/deliveries/{dlv}/redeliver",
    /** Send every failed, abandoned or skipped delivery since an instant. `POST /webhooks/{id}/recover` with the scope `webhooks:write`. */
    recover: "POST /webhooks/{id}/recover {}",
  },
  generations: {
    /** List the generations, newest first. `GET /generations` with the scope `generations:read`. */
    list: "GET /generations",
    /** Run a model on a prompt and further inputs. `POST /generations` with the scope `generations:write`. */
    create: "POST /generations {}",
    /** Get a generation, and a new link to its file once it is finished. `GET /generations/{id}` with the scope `generations:read`. */
    get: "GET /generations/{id}",
    /** Cancel a generation that has not ended: it has failed then, with the code `cancelled`. `POST /generations/{id}/cancel` with the scope `generations:write`. */
    cancel: "POST /generations/{id}/cancel",
    /** What finished generations cost, by day in UTC and by model. `GET /usage` with the scope `generations:read`. */
    usage: "GET /usage",
  },
  events: {
    /** List the events that happened, newest first. `GET /events` with the scope `webhooks:read`. */
    list: "GET /events",
    /** Open a WebSocket that tells events and state changes as they happen. `GET /stream` with the scope `webhooks:read`. */
    stream: "GET /stream",
  },
  keys: {
    /** List the API keys: one's own, or for owner and admin all of the organization. `GET /api-keys` with the scope `users:read`. */
    list: "GET /api-keys",
    /** Make an API key of one's own, which is shown this once. `POST /api-keys` with the scope `users:write`. */
    create: "POST /api-keys {}",
    /** Get an API key, without its secret. `GET /api-keys/{id}` with the scope `users:read`. */
    get: "GET /api-keys/{id}",
    /** Revoke an API key: it stops at once. `DELETE /api-keys/{id}` with the scope `users:write`. */
    revoke: "DELETE /api-keys/{id}",
  },
  organization: {
    /** Get the organization of the key. `GET /organization` with the scope `users:read`. */
    get: "GET /organization",
    /** Change the organization's name or plan. `PUT /organization` with the scope `users:write`. */
    update: "PUT /organization {}",
  },
  me: {
    /** Tell whose key this is: organization, user and key. `GET /me` with any key. */
    get: "GET /me",
  },
  openapi: {
    /** Get the OpenAPI 3.1 document of this interface, in the envelope that is in force. `GET /openapi.json` with no key. */
    get: "GET /openapi.json",
  },
} as const;

/** The prefix of the identifiers in each collection of the paths. */
export const prefixes = {
  projects: "proj",
  deployments: "dep",
  users: "usr",
  invitations: "inv",
  integrations: "int",
  deliveries: "dlv",
  webhooks: "wh",
  generations: "gen",
  "api-keys": "key",
} as const;
