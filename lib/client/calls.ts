/**
 * Written by `npm run generate`: method and path of every operation, and `{}` where it takes a body. The typed client takes
 * its methods and their doc comments from here.
 */
export const calls = {
  projects: {
    /** List projects, newest first. `GET /projects` with the scope `projects:read`. */
    list: "GET /projects",
    /** Create a project. `POST /projects` with the scope `projects:write`. */
    create: "POST /projects {}",
    /** Get a project. `GET /projects/{id}` with the scope `projects:read`. */
    get: "GET /projects/{id}",
    /** Update a project's name or description. `PUT /projects/{id}` with the scope `projects:write`. */
    update: "PUT /projects/{id} {}",
    /** Delete a project and everything in it. `DELETE /projects/{id}` with the scope `projects:write`. */
    delete: "DELETE /projects/{id}",
    /** Archive a project. `POST /projects/{id}/archive` with the scope `projects:write`. */
    archive: "POST /projects/{id}/archive",
    /** Restore an archived project. `POST /projects/{id}/unarchive` with the scope `projects:write`. */
    unarchive: "POST /projects/{id}/unarchive",
  },
  environments: {
    /** List the environments of a project. `GET /projects/{id}/environments` with the scope `deployments:read`. */
    list: "GET /projects/{id}/environments",
    /** Set the variables of an environment. `PUT /projects/{id}/environments/{name}` with the scope `deployments:write`. */
    put: "PUT /projects/{id}/environments/{name} {}",
    /** Delete an environment. `DELETE /projects/{id}/environments/{name}` with the scope `deployments:write`. */
    delete: "DELETE /projects/{id}/environments/{name}",
  },
  deployments: {
    /** List deployments, newest first. `GET /deployments` with the scope `deployments:read`. */
    list: "GET /deployments",
    /** Deploy a Git repository or a container image into an environment. `POST /deployments` with the scope `deployments:write`. */
    create: "POST /deployments {}",
    /** Get a deployment. `GET /deployments/{id}` with the scope `deployments:read`. */
    get: "GET /deployments/{id}",
    /** Read the log of a deployment. `GET /deployments/{id}/logs` with the scope `deployments:read`. */
    logs: "GET /deployments/{id}/logs",
    /** Roll back to the previous version. `POST /deployments/{id}/rollback` with the scope `deployments:write`. */
    rollback: "POST /deployments/{id}/rollback",
    /** Cancel a deployment that is queued or building. `POST /deployments/{id}/cancel` with the scope `deployments:write`. */
    cancel: "POST /deployments/{id}/cancel",
  },
  users: {
    /** List active members. `GET /users` with the scope `users:read`. */
    list: "GET /users",
    /** Get a user. `GET /users/{id}` with the scope `users:read`. */
    get: "GET /users/{id}",
    /** Change a user's role. `PUT /users/{id}` with the scope `users:write`. */
    update: "PUT /users/{id} {}",
    /** Remove a user. `DELETE /users/{id}` with the scope `users:write`. */
    delete: "DELETE /users/{id}",
    /** Suspend a user. `POST /users/{id}/suspend` with the scope `users:write`. */
    suspend: "POST /users/{id}/suspend",
    /** Reactivate a suspended user. `POST /users/{id}/reactivate` with the scope `users:write`. */
    reactivate: "POST /users/{id}/reactivate",
    /** Invite a user by email. `POST /users/invite` with the scope `users:write`. */
    invite: "POST /users/invite {}",
  },
  invitations: {
    /** List open invitations. `GET /invitations` with the scope `users:read`. */
    list: "GET /invitations",
    /** Get an invitation. `GET /invitations/{id}` with the scope `users:read`. */
    get: "GET /invitations/{id}",
    /** Revoke an invitation. `DELETE /invitations/{id}` with the scope `users:write`. */
    revoke: "DELETE /invitations/{id}",
    /** Resend an invitation. `POST /invitations/{id}/resend` with the scope `users:write`. */
    resend: "POST /invitations/{id}/resend",
    /** Accept an invitation. `POST /invitations/accept` with no key. */
    accept: "POST /invitations/accept {}",
  },
  integrations: {
    /** Create an integration. `POST /integrations` with the scope `integrations:write`. */
    create: "POST /integrations {}",
    /** List integrations. `GET /integrations` with the scope `integrations:read`. */
    list: "GET /integrations",
    /** Delete an integration. `DELETE /integrations/{id}` with the scope `integrations:write`. */
    delete: "DELETE /integrations/{id}",
    /** Get an integration. `GET /integrations/{id}` with the scope `integrations:read`. */
    get: "GET /integrations/{id}",
    /** Update an integration. `PATCH /integrations/{id}` with the scope `integrations:write`. */
    update: "PATCH /integrations/{id} {}",
    /** Send a test event. `POST /integrations/{id}/test` with the scope `integrations:write`. */
    test: "POST /integrations/{id}/test",
    /** List deliveries, newest first. `GET /integrations/{id}/deliveries` with the scope `integrations:read`. */
    deliveries: "GET /integrations/{id}/deliveries",
    /** Send a delivery again. `POST /integrations/{id}/deliveries/{dlv}/redeliver` with the scope `integrations:write`. */
    redeliver: "POST /integrations/{id}/deliveries/{dlv}/redeliver",
    /** Send missed deliveries again. `POST /integrations/{id}/recover` with the scope `integrations:write`. */
    recover: "POST /integrations/{id}/recover {}",
  },
  webhooks: {
    /** Create a webhook. `POST /webhooks` with the scope `webhooks:write`. */
    create: "POST /webhooks {}",
    /** List webhooks. `GET /webhooks` with the scope `webhooks:read`. */
    list: "GET /webhooks",
    /** Delete a webhook. `DELETE /webhooks/{id}` with the scope `webhooks:write`. */
    delete: "DELETE /webhooks/{id}",
    /** Get a webhook. `GET /webhooks/{id}` with the scope `webhooks:read`. */
    get: "GET /webhooks/{id}",
    /** Update a webhook. `PATCH /webhooks/{id}` with the scope `webhooks:write`. */
    update: "PATCH /webhooks/{id} {}",
    /** Send a test event. `POST /webhooks/{id}/test` with the scope `webhooks:write`. */
    test: "POST /webhooks/{id}/test",
    /** List deliveries, newest first. `GET /webhooks/{id}/deliveries` with the scope `webhooks:read`. */
    deliveries: "GET /webhooks/{id}/deliveries",
    /** Send a delivery again. `POST /webhooks/{id}/deliveries/{dlv}/redeliver` with the scope `webhooks:write`. */
    redeliver: "POST /webhooks/{id}/deliveries/{dlv}/redeliver",
    /** Send missed deliveries again. `POST /webhooks/{id}/recover` with the scope `webhooks:write`. */
    recover: "POST /webhooks/{id}/recover {}",
  },
  generations: {
    /** List generations, newest first. `GET /generations` with the scope `generations:read`. */
    list: "GET /generations",
    /** Start a generation. `POST /generations` with the scope `generations:write`. */
    create: "POST /generations {}",
    /** Get a generation. `GET /generations/{id}` with the scope `generations:read`. */
    get: "GET /generations/{id}",
    /** Cancel a queued or running generation. `POST /generations/{id}/cancel` with the scope `generations:write`. */
    cancel: "POST /generations/{id}/cancel",
    /** Get the cost of generations by day and model. `GET /usage` with the scope `generations:read`. */
    usage: "GET /usage",
  },
  events: {
    /** List events, newest first. `GET /events` with the scope `webhooks:read`. */
    list: "GET /events",
    /** Open a WebSocket for events and state changes. `GET /stream` with the scope `webhooks:read`. */
    stream: "GET /stream",
  },
  keys: {
    /** List API keys. `GET /api-keys` with the scope `users:read`. */
    list: "GET /api-keys",
    /** Create an API key. `POST /api-keys` with the scope `users:write`. */
    create: "POST /api-keys {}",
    /** Get an API key, without its secret. `GET /api-keys/{id}` with the scope `users:read`. */
    get: "GET /api-keys/{id}",
    /** Revoke an API key. `DELETE /api-keys/{id}` with the scope `users:write`. */
    revoke: "DELETE /api-keys/{id}",
  },
  organization: {
    /** Get the organization. `GET /organization` with the scope `users:read`. */
    get: "GET /organization",
    /** Update the organization. `PUT /organization` with the scope `users:write`. */
    update: "PUT /organization {}",
  },
  me: {
    /** Get the caller. `GET /me` with any key. */
    get: "GET /me",
  },
  openapi: {
    /** Get this OpenAPI document. `GET /openapi.json` with no key. */
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
