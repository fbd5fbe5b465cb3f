import type { Clock } from "../kernel/clock.ts";
import { notFound } from "../kernel/errors.ts";
import { folded } from "../kernel/fold.ts";
import type { Ids } from "../kernel/ids.ts";
import type { Caller } from "../kernel/operation.ts";
import type { Tx } from "../kernel/unit.ts";
import type { KeysService } from "../keys/service.ts";
import type { Store } from "../store/store.ts";
import type { Row } from "../store/tables.ts";
import type { UsersService } from "../users/service.ts";
import { organizationsRepository } from "./repository.ts";
import type { Plan } from "./schema.ts";

export type OrganizationsService = ReturnType<typeof organizationsService>;

/** Organizations: every record belongs to one, and nothing is visible across. CONTRACT section 2. */
export function organizationsService({
  store,
  clock,
  ids,
  users,
  keys,
}: {
  store: Store;
  clock: Clock;
  ids: Ids;
  users: UsersService;
  keys: KeysService;
}) {
  const organizations = store.using(organizationsRepository);
  return {
    /** Whether the database holds none yet, so that a seed may fill it. */
    isEmpty: async () => (await organizations().any({})) === undefined,

    /** By name, without regard to case; or the first one where no name is given. */
    async named(name?: string): Promise<Row<"organizations"> | undefined> {
      if (name !== undefined) return organizations().named({ name_folded: folded(name) });
      const first = await organizations().any({});
      return first && organizations().find({ organization_id: first.id });
    },

    async insert(tx: Tx, { name, plan }: { name: string; plan: Plan }) {
      const row = {
        id: ids.next("org"),
        name,
        name_folded: folded(name),
        plan,
        created_at: clock.iso(),
      };
      await organizations(tx).insert(row);
      return row;
    },

    async me(caller: Caller) {
      const organization = await organizations().find(caller);
      if (!organization) throw notFound("organization");
      return {
        organization: {
          id: organization.id,
          name: organization.name,
          plan: organization.plan as Plan,
        },
        user: await users.get(caller, caller.user_id),
        key: await keys.current(caller),
      };
    },
  };
}
