import type * as v from "valibot";
import { orNotFound, Problem } from "../../kernel/errors.ts";
import type { Caller } from "../../kernel/operation.ts";
import { foldCase } from "../../kernel/text/case-folding.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Row } from "../../store/tables.ts";
import type { Core } from "../core.ts";
import type { KeysService } from "../keys/service.ts";
import type { UsersService } from "../users/service.ts";
import { organizationsRepository } from "./repository.ts";
import type { organizationChanges, Plan } from "./schema.ts";

type Organization = Row<"organizations">;

interface Ports extends Pick<Core, "store" | "feed" | "clock" | "ids"> {
  readonly users: UsersService;
  readonly keys: KeysService;
  /** Called in the transaction that changes a plan, to turn off features that the new plan does not include. */
  readonly onPlanChange: (tx: Tx, organization_id: string, plan: Plan) => Promise<void>;
}

export type OrganizationsService = ReturnType<typeof organizationsService>;

/** Every record belongs to one organization; no other sees it (schema/records.md#organizations-and-people). */
export function organizationsService({ store, feed, clock, ids, users, keys, onPlanChange }: Ports) {
  const organizations = store.using(organizationsRepository);

  const get = ({ organization_id }: Pick<Caller, "organization_id">, tx?: Tx): Promise<Organization> =>
    orNotFound(organizations(tx).find({ id: organization_id }), "organization");

  return {
    /** Whether the database has no organization yet, so that a seed may fill it. */
    isEmpty: async (tx?: Tx) => (await organizations(tx).any({})) === undefined,

    /** The organization with this name, ignoring case; without a name, the first one. */
    async named(name?: string, tx?: Tx): Promise<Organization | undefined> {
      if (name !== undefined) return organizations(tx).findByName({ name_folded: foldCase(name) });
      const first = await organizations(tx).any({});
      return first && organizations(tx).find(first);
    },

    /** The organization of this name or identifier. Without an argument: the only one, or none if there are several. */
    async chosen(given?: string): Promise<Organization | undefined> {
      const rows = organizations();
      if (given !== undefined)
        return (await rows.findByName({ name_folded: foldCase(given) })) ?? rows.find({ id: given });
      const first = await rows.any({});
      if (!first || (await rows.another({ organization_id: first.id }))) return undefined;
      return rows.find(first);
    },

    async insert(tx: Tx, { name, plan }: { name: string; plan: Plan }) {
      const row = { id: ids.next("org"), name, name_folded: foldCase(name), plan, created_at: clock.iso() };
      await organizations(tx).insert(row);
      return row;
    },

    /** The organizations of the service, 1,000 at most. */
    all: () => organizations().all({}),

    get: (caller: Pick<Caller, "organization_id">, tx?: Tx) => get(caller, tx),

    planOf: async (organization_id: string, tx?: Tx) => (await get({ organization_id }, tx)).plan,

    update: (caller: Caller, changes: v.InferOutput<typeof organizationChanges>) =>
      store.transaction(caller, async (tx) => {
        const { organization_id } = caller;
        const before = await get(caller, tx);
        const { name = before.name, plan = before.plan } = changes;
        const name_folded = foldCase(name);
        const other = await organizations(tx).findByName({ name_folded });
        if (other && other.id !== before.id)
          throw new Problem("name_taken", `another organization is named "${name}"; choose another name`);
        const after = await organizations(tx).update({ id: organization_id, name, name_folded, plan });
        await onPlanChange(tx, organization_id, plan);
        feed.publish(tx, { kind: "record", organization_id, id: organization_id });
        return after ?? before;
      }),

    async me(caller: Caller) {
      return {
        organization: await get(caller),
        user: await users.get(caller, caller.user_id),
        key: await keys.current(caller),
      };
    },
  };
}
