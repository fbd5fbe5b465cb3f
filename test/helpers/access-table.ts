/** Webhooks and integrations have the same rows under different names. */
const endpointRows = (family: "webhooks" | "integrations") => `
  GET    /${family}                                 oadv  ${family}:read       200  -
  POST   /${family}                                 oad   ${family}:write      400  -
  GET    /${family}/{}                              oadv  ${family}:read       404  200
  PATCH  /${family}/{}                              oad   ${family}:write      400  200
  DELETE /${family}/{}                              oad   ${family}:write      404  204
  POST   /${family}/{}/test                         oad   ${family}:write      404  202
  GET    /${family}/{}/deliveries                   oadv  ${family}:read       404  200
  GET    /${family}/{}/deliveries/{}                oadv  ${family}:read       404  200
  POST   /${family}/{}/deliveries/{}/redeliver      oad   ${family}:write      404  202
  POST   /${family}/{}/recover                      oad   ${family}:write      400  202
`;

/**
 * The permissions that SPEC and CONTRACT define. Written from their text, not derived from the program.
 *
 * Columns: method · path · roles (initials; `-`: any role, and the scope alone decides about keys) · scope (`key`: any
 * key, `none`: no key needed) · status of a permitted call with unknown identifiers and no body · status of a permitted
 * call for an own record, for paths with an identifier.
 */
const table = `
  GET    /projects                                 oadv  projects:read       200  -
  POST   /projects                                 oa    projects:write      400  -
  GET    /projects/{}                              oadv  projects:read       404  200
  PUT    /projects/{}                              oa    projects:write      400  200
  DELETE /projects/{}                              oa    projects:write      404  204
  POST   /projects/{}/archive                      oa    projects:write      404  200
  POST   /projects/{}/unarchive                    oa    projects:write      404  200
  GET    /projects/{}/environments                 oadv  deployments:read    404  200
  PUT    /projects/{}/environments/{}              oad   deployments:write   400  200
  PATCH  /projects/{}/environments/{}              oad   deployments:write   400  200
  DELETE /projects/{}/environments/{}              oad   deployments:write   404  204
  GET    /projects/{}/environments/{}/logs         oadv  deployments:read    404  200
  GET    /projects/{}/environments/{}/runs         oadv  deployments:read    404  200
  POST   /projects/{}/environments/{}/restart      oad   deployments:write   404  409
  GET    /deployments                              oadv  deployments:read    200  -
  POST   /deployments                              oad   deployments:write   400  -
  GET    /deployments/{}                           oadv  deployments:read    404  200
  GET    /deployments/{}/logs                      oadv  deployments:read    404  200
  POST   /deployments/{}/rollback                  oad   deployments:write   404  201
  POST   /deployments/{}/cancel                    oad   deployments:write   404  200
  GET    /repositories                             oadv  deployments:read    200  -
  PATCH  /repositories/{}/{}                       oad   deployments:write   400  200
  DELETE /repositories/{}/{}                       oad   deployments:write   404  204
  GET    /users                                    oadv  users:read          200  -
  GET    /users/{}                                 oadv  users:read          404  200
  PUT    /users/{}                                 oa    users:write         400  200
  DELETE /users/{}                                 oa    users:write         404  204
  POST   /users/{}/suspend                         oa    users:write         404  200
  POST   /users/{}/reactivate                      oa    users:write         404  200
  POST   /users/invite                             oa    users:write         400  -
  GET    /invitations                              oadv  users:read          200  -
  GET    /invitations/{}                           oadv  users:read          404  200
  DELETE /invitations/{}                           oa    users:write         404  204
  POST   /invitations/{}/resend                    oa    users:write         404  200
  POST   /invitations/accept                       -     none                400  -
  GET    /api-keys                                 oadv  users:read          200  -
  POST   /api-keys                                 oadv  users:write         400  -
  GET    /api-keys/{}                              oadv  users:read          404  200
  DELETE /api-keys/{}                              oadv  users:write         404  204
  GET    /organization                             oadv  users:read          200  -
  GET    /audit-log                                oa    users:read          200  -
  PUT    /organization                             o     users:write         400  -
  GET    /me                                       -     key                 200  -
  GET    /openapi.json                             -     none                200  -
  GET    /events                                   oadv  webhooks:read       200  -
  GET    /stream                                   oadv  webhooks:read       426  -
  GET    /usage                                    oadv  generations:read    200  -
  GET    /generations                              oadv  generations:read    200  -
  POST   /generations                              oad   generations:write   400  -
  GET    /generations/{}                           oadv  generations:read    404  200
  POST   /generations/{}/cancel                    oad   generations:write   404  200
${endpointRows("webhooks").trim()}
${endpointRows("integrations").trim()}
`;

/** The columns of SPEC's table of role capabilities. */
export const roles = ["owner", "admin", "developer", "viewer"] as const;
export type Role = (typeof roles)[number];

export interface Rule {
  readonly method: string;
  /** `/projects/{}` */
  readonly path: string;
  readonly roles: readonly Role[];
  readonly scope: string;
  readonly whenOpen: number;
  readonly whenOwn: number;
}

export const rules: readonly Rule[] = table
  .trim()
  .split("\n")
  .map((line) => {
    const [method = "", path = "", who = "", scope = "", open, own] = line.trim().split(/ +/);
    const allowed = who === "-" ? roles : roles.filter((role) => who.includes(role.charAt(0)));
    return { method, path, roles: allowed, scope, whenOpen: Number(open), whenOwn: Number(own) };
  });

const resources = ["projects", "deployments", "users", "integrations", "webhooks", "generations"] as const;
type Scope = "*" | `${(typeof resources)[number]}:${"read" | "write"}`;
const named = resources.flatMap((name) => [`${name}:read`, `${name}:write`] as Scope[]);

/** No scope, all (`*`), all by name, and each scope alone. */
export const scopeSets: readonly (readonly Scope[])[] = [[], ["*"], named, ...named.map((scope) => [scope])];

/**
 * CONTRACT section 2: "A request needs the user's role and the key's scope". The role is checked first; write includes
 * read.
 */
export function refusal(
  rule: Rule,
  role: Role,
  scopes: readonly string[],
): "insufficient_role" | "insufficient_scope" | undefined {
  if (rule.scope === "key" || rule.scope === "none") return undefined;
  if (!rule.roles.includes(role)) return "insufficient_role";
  const covering = ["*", rule.scope, rule.scope.replace(":read", ":write")];
  return scopes.some((scope) => covering.includes(scope)) ? undefined : "insufficient_scope";
}

/** The name of an operation in the table. */
export const nameOf = ({ method, path }: { method: string; path: string }) =>
  `${method} ${path.replaceAll(/\{\w+\}/g, "{}")}`;
