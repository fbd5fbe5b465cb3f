export const roles = ["owner", "admin", "developer", "viewer"] as const;
export type Role = (typeof roles)[number];

export const resources = ["projects", "deployments", "users", "integrations", "webhooks", "generations"] as const;
export type Resource = (typeof resources)[number];

/** What a request needs: its role and its key's scope must both allow this. */
export type Need = `${Resource}:${"read" | "write"}`;

/** `*`, or a need. `:write` includes `:read`. */
export const scopes = ["*", ...resources.flatMap((name) => [`${name}:read`, `${name}:write`] as const)] as const;
export type Scope = (typeof scopes)[number];

/** The roles that may write each resource. Every role may read all of them. */
const writers: Readonly<Record<Resource, readonly Role[]>> = {
  projects: ["owner", "admin"],
  users: ["owner", "admin"],
  deployments: ["owner", "admin", "developer"],
  integrations: ["owner", "admin", "developer"],
  webhooks: ["owner", "admin", "developer"],
  generations: ["owner", "admin", "developer"],
};

/** The roles that have a capability, in the order of the table of roles. */
export const rolesFor = (need: Need): readonly Role[] => {
  const [resource, access] = need.split(":") as [Resource, string];
  return access === "read" ? roles : writers[resource];
};

/** Whether a key's scopes include everything that `scope` grants. */
export const covers = (granted: readonly string[], scope: Scope): boolean =>
  scope === "*" ? granted.includes("*") : inScope(granted, scope);

/** Whether a key with these scopes covers the need. */
export const inScope = (granted: readonly string[], need: Need): boolean =>
  granted.includes("*") || granted.includes(need) || granted.includes(need.replace(":read", ":write"));
