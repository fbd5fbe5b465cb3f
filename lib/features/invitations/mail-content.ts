import type { Role } from "../../kernel/roles.ts";
import { inOneLine, type MailContent } from "../mails/content.ts";

interface Invitation {
  readonly organization: string;
  readonly inviter: string;
  readonly role: Role;
  readonly expires_at: string;
  readonly token: string;
  readonly link: string;
  /** The address of the service: `https://svc.example.com`. */
  readonly origin: string;
  /** Whether the link opens a page of the dashboard. */
  readonly hasDashboard: boolean;
}

const months = "January February March April May June July August September October November December".split(" ");

/** An instant for readers in any time zone: `2 December 2026, 09:00 UTC`. */
const dateText = (at: string) =>
  `${Number(at.slice(8, 10))} ${months[Number(at.slice(5, 7)) - 1]} ${at.slice(0, 4)}, ${at.slice(11, 16)} UTC`;

const withArticle = (role: Role) => `${/^[ao]/.test(role) ? "an" : "a"} ${role}`;

export function invitationMail(invitation: Invitation): { readonly subject: string; readonly content: MailContent } {
  const { role, expires_at, token, link, origin, hasDashboard } = invitation;
  const [organization, inviter] = [inOneLine(invitation.organization), inOneLine(invitation.inviter)];
  const subject = `You are invited to ${organization}`;
  const body = `{"token":"${token}","name":"Your name"}`;
  const content = {
    heading: subject,
    lines: [
      `${inviter} invites you to join ${organization} as ${withArticle(role)}.`,
      `The invitation is valid until ${dateText(expires_at)}.`,
    ],
    button: hasDashboard ? { before: "Accept it here", label: "Accept the invitation", link } : undefined,
    command: {
      before: `${hasDashboard ? "Or" : "Accept it"} with:`,
      text: `curl -X POST ${origin}/v1/invitations/accept -H 'Content-Type: application/json' -d '${body}'`,
    },
    footer: "If you did not expect this mail, ignore it: nothing happens without you.",
  };
  return { subject, content };
}
