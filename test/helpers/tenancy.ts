import type { Role, Rule } from "./access-table.ts";
import type { Answered, keepAliveClient } from "./keep-alive-client.ts";
import type { ListeningWorld } from "./raw-sockets.ts";
import { expect, git, keyOf, type Who, type World } from "./test-service.ts";

/** Records of two organizations, and helpers for tests of identifiers. */

export type Ids = Readonly<Record<string, string>>;
/** The id, in either envelope. */
const idOf = (body: { id?: string; data?: { id: string } }) => body.id ?? body.data?.id ?? "";

/**
 * Creates a record of every kind, keyed by the first part of its path. `environment` names the environment; the
 * deliveries are those of the webhook and the integration.
 */
export async function records({ call, service }: World, as: Who, environment: string): Promise<Ids> {
  const made = async (path: string, body: object) => idOf(expect(await call(as, "POST", `/v1/${path}`, body), 201));
  const email = (name: string) => ({ email: `${name}.${environment}@guests.test`, role: "viewer" });
  const url = "https://hook.inbox.test/";
  const webhooks = await made("webhooks", { url, events: ["*"] });
  const integrations = await made("integrations", { type: "custom", config: { url } });
  const projects = await made("projects", { name: environment, region: "eu-west-1" });
  const deploy = () => made("deployments", { project_id: projects, environment, source: git });
  await deploy();
  await service.clock.advance("1m");
  const deployments = await deploy();
  const invitations = await made("users/invite", email("later"));
  await made("users/invite", email("member"));
  const mail = expect(await call("nobody", "GET", "/_svc/mail"), 200).data.at(-1);
  const token = { token: mail.token, name: environment };
  const users = idOf(expect(await call("nobody", "POST", "/v1/invitations/accept", token), 201));
  const generations = await made("generations", { model: "any-image", resolution: "32x32" });
  const keys = await made("api-keys", { name: environment });
  const delivery = async (kind: string, id: string) =>
    expect(await call(as, "GET", `/v1/${kind}/${id}/deliveries`), 200).data[0].id as string;
  return {
    ...{ projects, deployments, users, invitations, webhooks, integrations, generations, "api-keys": keys },
    ...{
      "of webhooks": await delivery("webhooks", webhooks),
      "of integrations": await delivery("integrations", integrations),
    },
    environment,
  };
}

/** Deletes the records from `records` that can be deleted. */
async function remove({ call }: World, ids: Ids): Promise<void> {
  expect(await call("owner", "DELETE", `/v1/projects/${ids["projects"]}/environments/${ids["environment"]}`), 204);
  for (const kind of ["projects", "users", "invitations", "webhooks", "integrations", "api-keys"]) {
    expect(await call("owner", "DELETE", `/v1/${kind}/${ids[kind]}`), 204);
  }
}

/** One body for all operations with a body; unknown fields are ignored. */
export const body = {
  ...{ name: "taken over", role: "viewer", description: "mine", since: "2026-01-01T00:00:00Z", status: "active" },
  variables: { PORT: "1" },
};

/** Invalid spellings of an identifier. */
export const malformed = (own: string) => spellings(own).filter((one) => one !== own);
const spellings = (id: string) => [
  ...[
    "unknown",
    "%20",
    "%00",
    "%F0%9F%92%A9",
    "x".repeat(300),
    id.toLowerCase(),
    `${id}x`,
    id.slice(0, -1),
    id.slice(4),
  ],
  ...[`${id}%00`, `${id}%20`, `..%2F${id}`, id.replace("_", "-"), "null", "undefined", "0", "*", "%25", "__proto__"],
];
export const unknownOf = (id: string) => `${id.slice(0, id.indexOf("_") + 1)}01ARZ3NDEKTSV4RRFFQ69G5FAV`;

/** Everything in an answer that could differ between two cases. */
export const comparable = ({ status, text, headers }: Answered) =>
  JSON.stringify([status, text, [...headers].filter(([name]) => name !== "date").sort()]);

export function asking(client: ReturnType<typeof keepAliveClient>) {
  const send = (who: Who, method: string, path: string, sent?: object) =>
    client.ask(method, `/v1${path}`, {
      headers: [
        ["X-Request-Id", "the-same"],
        ...(who === "nobody" ? [] : [["Authorization", `Bearer ${keyOf(who)}`] as const]),
        ...(sent ? [["Content-Type", "application/json"] as const] : []),
      ],
      ...(sent && { body: JSON.stringify(sent) }),
    });
  return {
    send,
    /** Calls an operation of the table with these ids. */
    of: (rule: Rule, who: Who, id: string, other = "none") =>
      send(
        who,
        rule.method,
        rule.path.replace("{}", () => id).replace("{}", () => other),
        rule.method === "GET" || rule.method === "DELETE" ? undefined : body,
      ),
  };
}

/** Both organizations with records, and deleted records of acme. */
export async function twoOrganizations(here: ListeningWorld) {
  const own = await records(here, "owner", "production");
  const foreign = await records(here, "stranger", "theirs");
  const deleted = await records(here, "owner", "gone");
  await remove(here, deleted);
  return { own, foreign, deleted };
}

/** Whether the role may manage a colleague's keys: "owner and admin see and revoke all". */
export const managesKeys = (role: Role) => role === "owner" || role === "admin";
