import { orNotFound, Problem } from "../../kernel/errors.ts";
import type { Caller } from "../../kernel/operation.ts";
import { type PageQuery, paginateLong } from "../../kernel/page.ts";
import type { Role } from "../../kernel/roles.ts";
import { foldCase } from "../../kernel/text/case-folding.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Row } from "../../store/tables.ts";
import type { Core } from "../core.ts";
import type { KeysService } from "../keys/service.ts";
import { usersRepository } from "./repository.ts";
import { lifecycle } from "./states.ts";

type User = Row<"users">;
type UsersQuery = PageQuery & { readonly status?: User["status"] | undefined };
type NewUser = Pick<User, "name" | "email" | "role"> & { readonly status?: User["status"] | undefined };
type Changes = Partial<Pick<User, "role" | "status">>;

interface Ports extends Pick<Core, "store" | "bus" | "feed" | "clock" | "ids"> {
  readonly keys: KeysService;
  /** Called in the transaction that suspends or removes a user, to end what the user has left open. */
  readonly onLeave: (tx: Tx, organization_id: string, user_id: string) => Promise<void>;
}

export type UsersService = ReturnType<typeof usersService>;

/** The people of an organization (schema/records.md#organizations-and-people). */
export function usersService({ store, bus, feed, clock, ids, keys, onLeave }: Ports) {
  const users = store.using(usersRepository);

  const get = (organization_id: string, id: string, tx?: Tx): Promise<User> =>
    orNotFound(users(tx).find({ organization_id, id }), "user");

  /** Only an owner may invite someone as an owner, or promote to, demote, suspend or remove an owner. */
  const requireOwner = (caller: Caller, action: string) => {
    if (caller.role !== "owner") throw new Problem("insufficient_role", `only an owner may ${action} an owner`);
  };

  /** Requires an owner with the scope `*` (schema/records.md#organizations-and-people). */
  const requireWholeOwner = (caller: Caller, action: string) => {
    requireOwner(caller, action);
    if (caller.scopes.includes("*")) return;
    throw new Problem(
      "insufficient_scope",
      `only a key with the scope * may ${action} an owner, because an owner can do everything; this key has ${caller.scopes.join(", ")}`,
    );
  };

  /** An organization always has at least one active owner. */
  const refuseLastOwner = async (tx: Tx, user: User, after: Changes | undefined) => {
    const was = user.role === "owner" && user.status === "active";
    const stays = after && (after.role ?? user.role) === "owner" && (after.status ?? user.status) === "active";
    if (was && !stays && !(await users(tx).anotherOwner(user))) {
      throw new Problem("last_owner", "this is the last active owner; promote another user to owner first");
    }
  };

  const change = (caller: Caller, id: string, changes: Changes, action: string) =>
    store.transaction(caller, async (tx) => {
      const user = await get(caller.organization_id, id, tx);
      if (user.role === "owner" && (changes.role ?? "owner") !== "owner") requireOwner(caller, "demote");
      else if (user.role === "owner" && changes.role === undefined) requireOwner(caller, action);
      else if (user.role !== "owner" && changes.role === "owner") requireWholeOwner(caller, "promote to");
      await refuseLastOwner(tx, user, changes);
      if (changes.status === lifecycle.moves.suspend.to) await onLeave(tx, user.organization_id, id);
      // Also at a reactivation: an earlier version kept the sessions of suspended users.
      if (changes.status !== undefined) await keys.endSignIns(tx, user.organization_id, id);
      feed.publish(tx, { kind: "rights", organization_id: user.organization_id, user_id: id });
      return (await users(tx).update({ ...user, ...changes })) ?? user;
    });

  return {
    requireWholeOwner,
    get: ({ organization_id }: Pick<Caller, "organization_id">, id: string, tx?: Tx) => get(organization_id, id, tx),
    withEmail: (tx: Tx, organization_id: string, email: string) =>
      users(tx).withEmail({ organization_id, email_folded: foldCase(email) }),
    firstWithRole: (organization_id: string, role: Role, tx?: Tx) => users(tx).firstWithRole({ organization_id, role }),

    /** The longest-serving active owners and admins, 20 at most. */
    managers: (organization_id: string, tx: Tx) => users(tx).managers({ organization_id }),

    /** The active members, or the suspended ones if the query asks for them. */
    list: ({ organization_id }: Caller, { status = lifecycle.initial, ...page }: UsersQuery) =>
      paginateLong(page, "users", { organization_id, status }, users().list),

    async insert(tx: Tx, organization_id: string, { name, email, role, status = lifecycle.initial }: NewUser) {
      const [id, email_folded, joined_at] = [ids.next("usr"), foldCase(email), clock.iso()];
      const row: User = { id, organization_id, name, email, email_folded, role, status, joined_at };
      await users(tx).insert(row);
      return row;
    },

    update: (caller: Caller, id: string, { role }: { role: Role }) => change(caller, id, { role }, "change"),
    suspend: (caller: Caller, id: string) => change(caller, id, { status: lifecycle.moves.suspend.to }, "suspend"),
    reactivate: (caller: Caller, id: string) =>
      change(caller, id, { status: lifecycle.moves.reactivate.to }, "reactivate"),

    /** Removes the user, revokes all their API keys, and ends their sessions at once. */
    remove: (caller: Caller, id: string) =>
      store.transaction(caller, async (tx) => {
        const user = await get(caller.organization_id, id, tx);
        if (user.role === "owner") requireOwner(caller, "remove");
        await refuseLastOwner(tx, user, undefined);
        await onLeave(tx, caller.organization_id, id);
        await keys.removeOf(tx, caller.organization_id, id);
        await users(tx).remove({ organization_id: caller.organization_id, id });
        const { email, role } = user;
        await bus.announce(tx, caller.organization_id, "user.removed", { user_id: id, email, role });
      }),
  };
}
