import { useState } from "preact/hooks";
import type { Invitation, User } from "../../../client/generated/records.ts";
import { type Role, roles } from "../../../kernel/roles.ts";
import { api, session } from "../api.ts";
import { Action, Field, FormDialog, Problem, Select } from "../controls.tsx";
import { instantOf } from "../format-time.ts";
import { useForm } from "../forms/form.tsx";
import { refreshAll, useRead } from "../live.ts";
import { Table } from "../parts.tsx";
import { refusal } from "../permissions.ts";
import { Empty, Loading, Page, Section, Text, Time } from "../ui.tsx";
import { OrganizationPart } from "./organization.tsx";

const roleOf = (text: string): Role => roles.find((one) => one === text) ?? "viewer";
/** Only owners can make someone an owner. */
const roleOptions = (isOwner: boolean) =>
  roles.filter((one) => isOwner || one !== "owner").map((one): [string, string] => [one, one]);
const actsAsOwner = () => session.value?.role === "owner";

function Invite() {
  const { values, field, choice, reset } = useForm({ email: "", role: "developer" });
  const run = async () => {
    await api.users.invite({ email: values.email.trim(), role: roleOf(values.role) });
    reset();
  };
  return (
    <FormDialog label="Invite" kind="main" reason={refusal("users:write")} run={run}>
      <Field label="Email" type="email" {...field("email")} required />
      <Select label="Role" {...choice("role")} options={roleOptions(actsAsOwner())} />
    </FormDialog>
  );
}

export function PeoplePage() {
  const { data, error } = useRead(
    "people-page",
    async (signal) => {
      const [users, suspended, invitations] = await Promise.all([
        api.users.list({}, { signal }),
        api.users.list({ status: "suspended" }, { signal }),
        api.invitations.list({}, { signal }),
      ]);
      return { users: users.data, suspended: suspended.data, invitations: invitations.data };
    },
    ({ kind, event }) => kind === "rights" || kind === "record" || event?.startsWith("user.") === true,
  );
  const owners = data?.users.filter(({ role }) => role === "owner").length ?? 0;
  return (
    <Page title="People" actions={<Invite />}>
      <OrganizationPart />
      {!data && <Loading error={error} />}
      {data && (
        <>
          <Table head={["Name", "Email", "Role", "Joined", ""]}>
            {data.users.map((one) => (
              <Member key={one.id} of={one} isLastOwner={one.role === "owner" && owners === 1} />
            ))}
          </Table>
          {data.suspended.length > 0 && (
            <Section title="Suspended">
              {data.suspended.map((one) => (
                <Suspended key={one.id} of={one} />
              ))}
            </Section>
          )}
          <Section title="Invitations">
            {data.invitations.length === 0 && <Empty>No open invitation.</Empty>}
            {data.invitations.map((one) => (
              <Invited key={one.id} of={one} />
            ))}
          </Section>
        </>
      )}
    </Page>
  );
}

/** Why the acting person may not change a user with this role; undefined if they may. */
function refusalFor({ role }: Pick<User, "role">): string | undefined {
  const isBarred = role === "owner" && !actsAsOwner();
  return refusal("users:write") ?? (isBarred ? "Only an owner may change an owner." : undefined);
}

function Member({ of, isLastOwner }: { of: User; isLastOwner: boolean }) {
  const last = isLastOwner ? "This is the last active owner; promote another person first." : undefined;
  const reason = refusalFor(of) ?? last;
  const { error, start } = useChange((role: Role) => api.users.update({ id: of.id, role }));
  return (
    <tr>
      <td>
        <Text of={of.name} /> {of.id === session.value?.user_id && <span class="hint">(you)</span>}
      </td>
      <td>
        <Text of={of.email} />
      </td>
      <td>
        <Select
          isBare
          label={`Role of ${of.name}`}
          value={of.role}
          options={roleOptions(actsAsOwner() || of.role === "owner")}
          reason={reason}
          onChange={(text) => void start(roleOf(text))}
        />
        <Problem error={error} />
      </td>
      <td>
        <Time at={of.joined_at} />
      </td>
      <td class="end">
        <FormDialog
          label="Suspend"
          title={`Suspend ${of.name}?`}
          kind="quiet"
          reason={reason}
          run={() => api.users.suspend({ id: of.id })}
        >
          <p>
            The keys of <Text of={of.name} /> stop working immediately, and work again after a reactivation.
          </p>
        </FormDialog>
        <FormDialog
          label="Remove"
          title={`Remove ${of.name}?`}
          kind="danger"
          reason={reason}
          run={() => api.users.delete({ id: of.id })}
        >
          <p>
            <Text of={of.name} /> leaves the organization, and all keys of this person stop working immediately.
          </p>
        </FormDialog>
      </td>
    </tr>
  );
}

/** Runs a write with an input, then reads everything again. */
function useChange<T>(run: (input: T) => Promise<unknown>) {
  const [error, setError] = useState<unknown>();
  const start = async (input: T) => {
    setError(undefined);
    await run(input).catch(setError);
    refreshAll();
  };
  return { error, start };
}

function Suspended({ of }: { of: User }) {
  return (
    <div class="row spread">
      <span>
        <Text of={of.name} />, <Text of={of.email} />, {of.role}
      </span>
      <Action kind="quiet" reason={refusalFor(of)} run={() => api.users.reactivate({ id: of.id })}>
        Reactivate
      </Action>
    </div>
  );
}

/** The result of an invitation's mail. */
function Mailed({ of: { mail_status, mail_error } }: { of: Invitation }) {
  const error = mail_error ?? "";
  if (mail_status === "sent") return <p class="hint">The mail was sent.</p>;
  if (mail_status === "failed")
    return (
      <p class="problem">
        The mail was not sent: <Text of={error} />
      </p>
    );
  if (mail_status === "pending")
    return (
      <p class="hint">
        The mail is waiting to be sent{error !== "" && ": "}
        <Text of={error} />
      </p>
    );
  return (
    <p class="hint">
      The mail is stored but not sent: no mail server is set (option <code>mail.url</code>). The operator can read its
      link with <code>svc-server mail</code>.
    </p>
  );
}

function Invited({ of }: { of: Invitation }) {
  const reason = refusal("users:write");
  const isBarred = of.role === "owner" && !actsAsOwner() ? "Only an owner may invite an owner." : undefined;
  return (
    <div class="row spread">
      <span>
        <Text of={of.email} /> as {of.role}, until {instantOf(of.expires_at)} UTC
        <Mailed of={of} />
      </span>
      <span class="row">
        <Action kind="quiet" reason={reason ?? isBarred} run={() => api.invitations.resend({ id: of.id })}>
          Send again
        </Action>
        <FormDialog
          label="Revoke"
          title="Revoke this invitation?"
          kind="danger"
          reason={reason}
          run={() => api.invitations.revoke({ id: of.id })}
        >
          <p>
            The link that <Text of={of.email} /> has stops working.
          </p>
        </FormDialog>
      </span>
    </div>
  );
}
