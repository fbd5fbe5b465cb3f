import type { OrganizationsService } from "../features/organizations/service.ts";
import type { UsersService } from "../features/users/service.ts";
import type { Identify } from "../http/authenticate.ts";
import { notFound, Problem } from "../kernel/errors.ts";
import { readWhole } from "../kernel/page.ts";

interface Ports {
  readonly organizations: Pick<OrganizationsService, "all" | "named">;
  readonly users: Pick<UsersService, "get" | "list" | "firstWithRole">;
}

export type Person = Awaited<ReturnType<ReturnType<typeof createPeople>["all"]>>[number];

/** The people that the dashboard can act as in the mode `dev`. A person is named `<organization id>.<user id>`. */
export function createPeople({ organizations, users }: Ports) {
  const nameOf = (organization_id: string, user_id: string) => `${organization_id}.${user_id}`;

  const identify: Identify = async (person, tx) => {
    const [organization_id = "", id = ""] = person.split(".");
    const user = await users.get({ organization_id }, id, tx).catch((error: unknown) => {
      if (error instanceof Problem && error.code === "not_found") return undefined;
      throw error;
    });
    if (user?.status !== "active") return undefined;
    const caller = { organization_id, user_id: id, role: user.role, key_id: "", scopes: ["*"] };
    return { caller, windows: [], isCurrent: () => false };
  };

  return {
    identify,

    /** The first owner. */
    async first(): Promise<string> {
      const organization = await organizations.named();
      const owner = organization && (await users.firstWithRole(organization.id, "owner"));
      if (!owner) throw notFound("owner");
      return nameOf(owner.organization_id, owner.id);
    },

    /** Every active person of every organization. */
    async all() {
      const lists = (await organizations.all()).map(async ({ id, name }) => {
        const by = { organization_id: id, user_id: "", role: "viewer", key_id: "", scopes: [] } as const;
        const { data } = await readWhole(users.list(by, {}));
        return data.map((user) => ({
          person: nameOf(id, user.id),
          organization: name,
          name: user.name,
          role: user.role,
        }));
      });
      return (await Promise.all(lists)).flat();
    },
  };
}
