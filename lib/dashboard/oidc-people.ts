import * as v from "valibot";
import type { Person } from "../drivers/oidc/issuer.ts";
import { shortWords } from "../drivers/oidc/issuer-error.ts";
import { createdUser } from "../features/audit/schema.ts";
import type { AuditService, RefusedSignIn } from "../features/audit/service.ts";
import type { InvitationsService } from "../features/invitations/service.ts";
import type { Sessions } from "../features/keys/sessions.ts";
import type { OrganizationsService } from "../features/organizations/service.ts";
import { displayName } from "../features/users/schema.ts";
import type { UsersService } from "../features/users/service.ts";
import type { Role } from "../kernel/roles.ts";
import { email as address } from "../kernel/validation.ts";

/** Why a person may not sign in: a short reason for the log, and a sentence for the person. */
export class SignInRefused extends Error {
  override readonly name = "SignInRefused";
  readonly status: number;
  readonly reason: string;
  /** The organization that the sign-in was for; null if unknown. */
  readonly organization_id: string | null;
  /** The user with this address; null if there is none. */
  readonly user_id: string | null;

  constructor(
    status: number,
    reason: string,
    message: string,
    whose: { readonly organization_id?: string; readonly user_id?: string; readonly cause?: unknown } = {},
  ) {
    super(message, { cause: whose.cause });
    this.status = status;
    this.reason = reason;
    this.organization_id = whose.organization_id ?? null;
    this.user_id = whose.user_id ?? null;
  }
}

/** The client that a sign-in comes from. */
export type Client = Pick<RefusedSignIn, "address" | "request_id">;

interface Ports {
  readonly sessions: Pick<Sessions, "beginFor">;
  readonly organizations: Pick<OrganizationsService, "chosen">;
  readonly users: Pick<UsersService, "withEmail" | "insert">;
  readonly invitations: Pick<InvitationsService, "withdraw">;
  readonly audit: Pick<AuditService, "record">;
  readonly oidc: { readonly organization?: string | undefined; readonly create?: Role | undefined };
}

/**
 * Starts a session for the active user with the verified address. Rejects with {SignInRefused}. Refusals name no other
 * person, because an issuer may have users who do not belong to the organization.
 */
export const createOidcPeople =
  ({ sessions, organizations, users, invitations, audit, oidc }: Ports) =>
  async ({ email, name }: Person, client: Client): Promise<string> => {
    if (email === undefined)
      throw new SignInRefused(
        403,
        "unverified address",
        "Your account has no verified e-mail address. Verify it there, or ask the people who run that account system.",
      );
    const organization = await organizations.chosen(oidc.organization);
    if (!organization)
      throw new SignInRefused(
        503,
        "no organization",
        "This service does not know which organization you belong to. Its operator has to set the option dashboard.oidc.organization.",
      );
    const organization_id = organization.id;
    return sessions.beginFor(organization_id, async (tx) => {
      const isAddress = v.is(address(), email);
      const user = isAddress ? await users.withEmail(tx, organization_id, email) : undefined;
      if (user?.status === "active") return user.id;
      if (user)
        throw new SignInRefused(
          403,
          "suspended",
          `Your membership of ${organization.name} is suspended. Ask an owner or admin of ${organization.name} to reactivate it.`,
          { organization_id, user_id: user.id },
        );
      if (oidc.create === undefined || !isAddress)
        throw new SignInRefused(
          403,
          "unknown address",
          `${organization.name} has no user with the address ${shortWords(email)}. Ask an owner or admin of ${organization.name} to invite this address.`,
          { organization_id },
        );
      const called = v.safeParse(displayName, name);
      await invitations.withdraw(tx, organization_id, email);
      const newUser = {
        name: called.success ? called.output : (email.split("@", 1)[0] ?? email),
        email,
        role: oidc.create,
      };
      const { id } = await users.insert(tx, organization_id, newUser);
      await audit.record(tx, {
        organization_id,
        action: createdUser,
        target: id,
        user_id: id,
        via: "dashboard",
        ...client,
      });
      return id;
    });
  };
