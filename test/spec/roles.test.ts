import assert from "node:assert/strict";
import { test } from "node:test";
import { operations } from "../../lib/operations.ts";
import { callAs, member, withMembers } from "../callers.ts";
import { expect, world } from "../world.ts";

/** The columns of SPEC's table of role capabilities, as initials. */
const roles = { o: "owner", a: "admin", d: "developer", v: "viewer" } as const;
const resources = ["projects", "deployments", "users", "integrations", "webhooks", "generations"] as const;

/**
 * The rights that SPEC and CONTRACT give, not derived from the program: the roles, then the scope. `-` stands for any role
 * and any key. Every operation needs a line, or this test fails.
 */
const table = `
  GET    /projects                              oadv  projects:read
  POST   /projects                              oa    projects:write
  GET    /projects/{}                           oadv  projects:read
  PUT    /projects/{}                           oa    projects:write
  DELETE /projects/{}                           oa    projects:write
  POST   /projects/{}/archive                   oa    projects:write
  POST   /projects/{}/unarchive                 oa    projects:write
  GET    /projects/{}/environments              oadv  deployments:read
  PUT    /projects/{}/environments/{}           oad   deployments:write
  DELETE /projects/{}/environments/{}           oad   deployments:write
  GET    /deployments                           oadv  deployments:read
  POST   /deployments                           oad   deployments:write
  GET    /deployments/{}                        oadv  deployments:read
  GET    /deployments/{}/logs                   oadv  deployments:read
  POST   /deployments/{}/rollback               oad   deployments:write
  POST   /deployments/{}/cancel                 oad   deployments:write
  GET    /users                                 oadv  users:read
  GET    /users/{}                              oadv  users:read
  PUT    /users/{}                              oa    users:write
  DELETE /users/{}                              oa    users:write
  POST   /users/{}/suspend                      oa    users:write
  POST   /users/{}/reactivate                   oa    users:write
  POST   /users/invite                          oa    users:write
  GET    /invitations                           oadv  users:read
  GET    /invitations/{}                        oadv  users:read
  DELETE /invitations/{}                        oa    users:write
  POST   /invitations/{}/resend                 oa    users:write
  POST   /invitations/accept                    -     -
  GET    /api-keys                              oadv  users:read
  POST   /api-keys                              oadv  users:write
  GET    /api-keys/{}                           oadv  users:read
  DELETE /api-keys/{}                           oadv  users:write
  GET    /organization                          oadv  users:read
  PUT    /organization                          o     users:write
  GET    /me                                    -     -
  GET    /openapi.json                          -     -
  GET    /events                                oadv  webhooks:read
  GET    /stream                                oadv  webhooks:read
  GET    /usage                                 oadv  generations:read
  GET    /generations                           oadv  generations:read
  POST   /generations                           oad   generations:write
  GET    /generations/{}                        oadv  generations:read
  POST   /generations/{}/cancel                 oad   generations:write
  GET    /webhooks                              oadv  webhooks:read
  POST   /webhooks                              oad   webhooks:write
  GET    /webhooks/{}                           oadv  webhooks:read
  PATCH  /webhooks/{}                           oad   webhooks:write
  DELETE /webhooks/{}                           oad   webhooks:write
  POST   /webhooks/{}/test                      oad   webhooks:write
  GET    /webhooks/{}/deliveries                oadv  webhooks:read
  POST   /webhooks/{}/deliveries/{}/redeliver   oad   webhooks:write
  POST   /webhooks/{}/recover                   oad   webhooks:write
  GET    /integrations                          oadv  integrations:read
  POST   /integrations                          oad   integrations:write
  GET    /integrations/{}                       oadv  integrations:read
  PATCH  /integrations/{}                       oad   integrations:write
  DELETE /integrations/{}                       oad   integrations:write
  POST   /integrations/{}/test                  oad   integrations:write
  GET    /integrations/{}/deliveries            oadv  integrations:read
  POST   /integrations/{}/deliveries/{}/redeliver  oad  integrations:write
  POST   /integrations/{}/recover               oad   integrations:write
`;

const rules = new Map(
  table
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/ +/) as [string, string, string, string])
    .map(([method, path, who, scope]) => [`${method} ${path}`, { who, scope }]),
);

const scopes = ["*", ...resources.flatMap((name) => [`${name}:read`, `${name}:write`])] as const;
type Scope = "*" | `${(typeof resources)[number]}:${"read" | "write"}`;

/** Every role with a key of each scope, and with a key without scopes. */
const people = Object.values(roles).flatMap((role) =>
  [...scopes, undefined].map((scope) => ({
    role,
    scope,
    name: `${role}_${(scope ?? "none").replace(":", "_").replace("*", "all")}`,
  })),
);
const seed = withMembers(
  ...people.map(({ name, role, scope }) => member(name, role, { scopes: scope === undefined ? [] : [scope as Scope] })),
);

/** CONTRACT section 2: "A request needs the user's role and the key's scope", the role first; write includes read. */
function refusal(rule: { who: string; scope: string }, role: string, scope: string | undefined): string | undefined {
  if (rule.who === "-") return undefined;
  if (![...rule.who].some((letter) => roles[letter as keyof typeof roles] === role)) return "insufficient_role";
  const covered = ["*", rule.scope, rule.scope.replace(":read", ":write")];
  return scope !== undefined && covered.includes(scope) ? undefined : "insufficient_scope";
}

const nameOf = ({ method, path }: { method: string; path: string }) => `${method} ${path.replaceAll(/\{\w+\}/g, "{}")}`;

test("Every operation has its line in the table of rights", () => {
  assert.deepEqual(
    operations.map(nameOf).filter((name) => !rules.has(name)),
    [],
  );
});

for (const operation of operations) {
  test(`${nameOf(operation)} is for exactly the roles and scopes of the table`, async (t) => {
    const here = await world(t, { seed });
    const rule = rules.get(nameOf(operation));
    assert.ok(rule);
    // Identifiers are unknown and bodies are missing, so that a permitted call changes nothing.
    const path = `/v1${operation.path.replaceAll(/\{\w+\}/g, "unknown")}`;
    for (const { name, role, scope } of people) {
      const { status, body } = await callAs(here, name, operation.method, path);
      const wanted = refusal(rule, role, scope);
      const refused = status === 403 ? body.error.code : undefined;
      assert.equal(refused, wanted, `${name} is answered ${status}`);
      if (!wanted) assert.ok([200, 400, 404, 426].includes(status), `${name} is answered ${status}`);
    }
  });
}

test("A key may have several scopes, and each counts", async (t) => {
  const here = await world(t, {
    seed: withMembers(member("both", "owner", { scopes: ["users:read", "projects:write"] })),
  });
  const ask = async (method: string, path: string) => (await callAs(here, "both", method, path)).status;
  assert.equal(await ask("GET", "/v1/users"), 200);
  assert.equal(await ask("GET", "/v1/projects"), 200);
  assert.equal(await ask("DELETE", "/v1/projects/unknown"), 404);
  assert.equal(await ask("DELETE", "/v1/users/unknown"), 403);
  assert.equal(await ask("GET", "/v1/deployments"), 403);
});

test("The present role counts, not the role at the time when the key was made", async (t) => {
  const here = await world(t);
  const { call } = here;
  const order = { name: "web", region: "eu" };
  const { data } = expect(await call("owner", "GET", "/v1/users"), 200);
  const { id } = data.find(({ name }: { name: string }) => name === "viewer");
  expect(await call("viewer", "POST", "/v1/projects", order), 403);
  expect(await call("owner", "PUT", `/v1/users/${id}`, { role: "admin" }), 200);
  expect(await call("viewer", "POST", "/v1/projects", order), 201);
  expect(await call("owner", "PUT", `/v1/users/${id}`, { role: "viewer" }), 200);
  expect(await call("viewer", "POST", "/v1/projects", { ...order, name: "api" }), 403);
});

test("A refusal says what is needed and what the key has", async (t) => {
  const here = await world(t, { seed });
  const role = await callAs(here, "viewer_all", "POST", "/v1/projects", {});
  assert.match(role.body.error.message, /owner.*admin.*viewer/);
  const scope = await callAs(here, "owner_users_read", "POST", "/v1/projects", {});
  assert.match(scope.body.error.message, /projects:write.*users:read/);
});
