import { operationsOf } from "../../kernel/operation.ts";
import { roles } from "../../kernel/roles.ts";
import { pageQuery } from "../../kernel/validation.ts";
import { apiKey, keyRevocation, madeApiKey, newApiKey } from "./schema.ts";
import type { KeysService } from "./service.ts";

const operation = operationsOf<{ keys: KeysService }>();

/** Members manage their own keys, so all roles may write. */
export const keysOperations = [
  operation({
    id: "keys.list",
    summary: "List API keys",
    description:
      "Lists the caller's own API keys; an owner or admin sees all keys of the organization. The keys themselves are never returned.",
    route: "GET /api-keys",
    needs: "users:read",
    answers: "list",
    query: pageQuery,
    result: apiKey,
    run: ({ query }, { keys }, caller) => keys.list(caller, query),
  }),
  operation({
    id: "keys.create",
    summary: "Create an API key",
    description:
      "Creates an API key for the caller. The key is shown only in this response. It cannot have a scope that the calling key lacks, nor expire later than it, nor have a higher rate limit (0 means no limit); fields that are left out get the values of the calling key. A user can have 100 keys.",
    route: "POST /api-keys",
    needs: "users:write",
    roles,
    answers: "created",
    body: newApiKey,
    result: madeApiKey,
    problems: ["limit_reached"],
    run: ({ body }, { keys }, caller) => keys.create(caller, body),
  }),
  operation({
    id: "keys.get",
    summary: "Get an API key, without its secret",
    description:
      "Returns the name, scopes, rate limit and times of one API key, and the key that made it. A `rate_limit` of null means the limit of the service. Members read their own keys; an owner or admin reads every key of the organization.",
    route: "GET /api-keys/{id}",
    needs: "users:read",
    answers: "object",
    result: apiKey,
    run: ({ params }, { keys }, caller) => keys.get(caller, params.id),
  }),
  operation({
    id: "keys.revoke",
    summary: "Revoke an API key",
    description:
      "Deletes the key, which stops working immediately. With `cascade=true`, the keys that it made are revoked too, and the keys that those made, even if a key in between no longer exists; so are the open invitations sent with any of these keys. Members revoke their own keys; an owner or admin revokes any key of the organization.",
    route: "DELETE /api-keys/{id}",
    needs: "users:write",
    roles,
    answers: "empty",
    query: keyRevocation,
    run: ({ params, query }, { keys }, caller) => keys.revoke(caller, params.id, query),
  }),
];
