import type * as v from "valibot";
import { isoOf } from "../../kernel/clock.ts";
import { orNotFound, Problem } from "../../kernel/errors.ts";
import type { Caller } from "../../kernel/operation.ts";
import { type PageQuery, paginateLong } from "../../kernel/page.ts";
import type { Role } from "../../kernel/roles.ts";
import { foldCase } from "../../kernel/text/case-folding.ts";
import { milliseconds } from "../../kernel/text/duration.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Row } from "../../store/tables.ts";
import type { Core } from "../core.ts";
import { hashOf } from "../keys/identities.ts";
import type { KeysService } from "../keys/service.ts";
import type { MailResult, MailsService } from "../mails/service.ts";
import type { UsersService } from "../users/service.ts";
import { invitationMail } from "./mail-content.ts";
import { invitationsRepository, type Renewal } from "./repository.ts";
import type { acceptance } from "./schema.ts";

const lifetime_ms = milliseconds("7d");
type Invited = Pick<Row<"invitations">, "id" | "organization_id" | "email" | "role" | "expires_at">;
/** How long an expired invitation stays in the list. */
const retention_ms = milliseconds("30d");

interface Ports extends Pick<Core, "store" | "bus" | "feed" | "clock" | "ids" | "random" | "origin"> {
  readonly users: UsersService;
  readonly keys: KeysService;
  readonly mails: MailsService;
  readonly organizationName: (tx: Tx, organization_id: string) => Promise<string>;
  /** Whether the link in the mail opens a page of the dashboard. */
  readonly hasDashboard: boolean;
}

export type InvitationsService = ReturnType<typeof invitationsService>;

/** Invitations by mail, with a token that works once (schema/records.md#organizations-and-people). */
export function invitationsService(ports: Ports) {
  const { store, bus, feed, clock, ids, random, users, keys, mails, organizationName, origin, hasDashboard } = ports;
  const invitations = store.using(invitationsRepository);

  const get = (organization_id: string, id: string, tx?: Tx) =>
    orNotFound(invitations(tx).find({ organization_id, id }), "invitation");

  const publish = (tx: Tx, { organization_id, id }: Pick<Row<"invitations">, "organization_id" | "id">) =>
    feed.publish(tx, { kind: "record", organization_id, id });

  const isPending = (row: Row<"invitations">) => row.expires_at > clock.iso();

  const pendingWith = async (token: string, tx?: Tx) => {
    const invitation = await invitations(tx).withToken({ token_hash: hashOf(token) });
    if (!invitation || !isPending(invitation)) throw new Problem("not_found", "no pending invitation has this token");
    return invitation;
  };

  /** The first key of an invitee has the scopes of the sender's key; a person without a key has every scope. */
  const renewal = ({ user_id, key_id, scopes }: Caller): Renewal & { readonly token: string } => {
    const token = random.alphanumeric(43);
    return {
      token,
      token_hash: hashOf(token),
      invited_at: clock.iso(),
      expires_at: isoOf(clock.now() + lifetime_ms),
      invited_by: user_id,
      invited_by_key_id: key_id === "" ? null : key_id,
      scopes: JSON.stringify(scopes),
    };
  };

  const sendMail = async (tx: Tx, caller: Caller, row: Invited, token: string) => {
    const { id: invitation_id, organization_id, email: to, role, expires_at } = row;
    const link = `${origin()}/dashboard/accept#${token}`;
    const organization = await organizationName(tx, organization_id);
    const { name: inviter } = await users.get(caller, caller.user_id, tx);
    const about = { organization, inviter, role, expires_at, token, link, origin: origin(), hasDashboard };
    return mails.send(tx, organization_id, { to, token, link, invitation_id, ...invitationMail(about) });
  };

  /** Stops sending the mail of an invitation that is no longer open. */
  const withdraw = async (tx: Tx, organization_id: string, id: string | null, reason: string) => {
    if (id !== null) await mails.giveUp(tx, { organization_id, id }, reason);
  };

  return {
    list: ({ organization_id }: Caller, query: PageQuery) =>
      paginateLong(query, "invitations", { organization_id }, invitations().list),
    get: (caller: Caller, id: string) => get(caller.organization_id, id),

    invite: (caller: Caller, { email, role }: { email: string; role: Role }) => {
      if (role === "owner") users.requireWholeOwner(caller, "invite as");
      return store.transaction(caller, async (tx) => {
        const { organization_id } = caller;
        if (await users.withEmail(tx, organization_id, email))
          throw new Problem("already_member", `${email} is already a member`);
        const before = await invitations(tx).toEmail({ organization_id, email_folded: foldCase(email) });
        if (before && isPending(before)) {
          throw new Problem(
            "invitation_pending",
            `${email} has an invitation until ${before.expires_at}; resend or revoke it, or wait until it expires`,
          );
        }
        if (before) await invitations(tx).remove(before);
        const { token, ...sent } = renewal(caller);
        const [id, email_folded] = [ids.next("inv"), foldCase(email)];
        const invitation = { id, organization_id, email, email_folded, role, ...sent };
        const row = { ...invitation, ...(await sendMail(tx, caller, invitation, token)) };
        await invitations(tx).insert(row);
        const { expires_at } = row;
        await bus.announce(tx, organization_id, "user.invited", { invitation_id: id, email, role, expires_at });
        return row;
      });
    },

    /** Replaces the token with a new one for seven days. The caller becomes the sender. */
    resend: (caller: Caller, id: string) =>
      store.transaction(caller, async (tx) => {
        const before = await get(caller.organization_id, id, tx);
        if (before.role === "owner") users.requireWholeOwner(caller, "invite as");
        const { token, ...sent } = renewal(caller);
        await withdraw(tx, before.organization_id, before.mail_id, "the invitation was sent again");
        const mailed = await sendMail(tx, caller, { ...before, ...sent }, token);
        // The invitation may have been deleted since it was read.
        const row = await orNotFound(invitations(tx).renew({ ...before, ...sent, ...mailed }), "invitation");
        publish(tx, row);
        return row;
      }),

    revoke: (caller: Caller, id: string) =>
      store.transaction(caller, async (tx) => {
        const { organization_id, mail_id } = await get(caller.organization_id, id, tx);
        await withdraw(tx, organization_id, mail_id, "the invitation was revoked");
        await invitations(tx).remove({ organization_id, id });
        publish(tx, { organization_id, id });
      }),

    /** Expired, used and unknown tokens get the same 404. */
    async accept(caller: Caller, { token, name }: v.InferOutput<typeof acceptance>) {
      // Before the transaction, which needs the organization. An invalid token does not wait for its lock.
      const { organization_id } = await pendingWith(token);
      return store.transaction({ ...caller, organization_id }, async (tx) => {
        const invitation = await pendingWith(token, tx);
        const { email, role, mail_id } = invitation;
        await withdraw(tx, organization_id, mail_id, "the invitation was accepted");
        await invitations(tx).remove(invitation);
        publish(tx, invitation);
        const user = await users.insert(tx, organization_id, { name, email, role });
        const { key } = await keys.insert(tx, {
          organization_id,
          user_id: user.id,
          name: "first key",
          scopes: JSON.parse(invitation.scopes) as string[],
        });
        return { ...user, api_key: key };
      });
    },

    /** Removes the invitation to an address whose owner became a member in another way. */
    async withdraw(tx: Tx, organization_id: string, email: string) {
      const invitation = await invitations(tx).toEmail({ organization_id, email_folded: foldCase(email) });
      if (!invitation) return;
      await withdraw(tx, organization_id, invitation.mail_id, "the person became a member in another way");
      await invitations(tx).remove(invitation);
      publish(tx, invitation);
    },

    /** Expires the open invitations of a person who leaves, so that others may invite the addresses again. */
    async voidOf(tx: Tx, organization_id: string, invited_by: string) {
      const at = clock.iso();
      for (const { id, mail_id } of await invitations(tx).expireOf({ organization_id, invited_by, at })) {
        await withdraw(tx, organization_id, mail_id, "the invitation expired, because its sender left");
        publish(tx, { organization_id, id });
      }
    },

    /** Expires the open invitations sent with keys that a cascade revoked. */
    async voidSentWith(tx: Tx, organization_id: string, key_ids: ReadonlySet<string>) {
      const at = clock.iso();
      for (const { id, mail_id, invited_by_key_id } of await invitations(tx).openWithKeys({ organization_id, at })) {
        if (!key_ids.has(invited_by_key_id ?? "")) continue;
        await invitations(tx).expire({ organization_id, id, at });
        await withdraw(tx, organization_id, mail_id, "the invitation expired, because the key that sent it ended");
        publish(tx, { organization_id, id });
      }
    },

    async mailed(tx: Tx, organization_id: string, mail_id: string, result: MailResult) {
      const invitation = await invitations(tx).mailed({ organization_id, mail_id, ...result });
      if (invitation) publish(tx, { organization_id, id: invitation.id });
    },

    async prune() {
      const before = isoOf(clock.now() - retention_ms);
      while ((await store.transaction("rows", (tx) => invitations(tx).prune({ before }))) > 0);
    },
  };
}
