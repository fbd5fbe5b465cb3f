import { useState } from "preact/hooks";
import type { Invitation, User } from "../../../client/generated/records.ts";
import { type Role, roles } from "../../../kernel/roles.ts";
import { api, session } from "../api.ts";
import { Action, Button, Field, FormDialog, Select } from "../controls.tsx";
import { instantOf } from "../format-time.ts";
import { Form } from "../forms/form.tsx";
import { refreshAll, useRead } from "../live.ts";
import { Modal } from "../modal.tsx";
import { Records } from "../parts.tsx";
import { refusal } from "../permissions.ts";
import { href } from "../router.ts";
import { Page, Section, Text, Time } from "../ui.tsx";
import { Problem } from "../work.tsx";
import { OrganizationPart } from "./organization.tsx";

const roleOf = (text: string): Role => roles.find((one) => one === text) ?? "viewer";
/** Only owners can make someone an owner. */
const roleOptions = (isOwner: boolean) =>
  roles.filter((one) => isOwner || one !== "owner").map((one): [string, string] => [one, one]);
const actsAsOwner = () => session.value?.role === "owner";

const Invite = () => (
  <Form
    label="Invite"
    kind="main"
    reason={refusal("users:write")}
    start={{ email: "", role: "developer" }}
    run={({ email, role }) => api.users.invite({ email: email.trim(), role: roleOf(role) })}
  >
    <Field label="Email" type="email" required />
    <Select label="Role" options={roleOptions(actsAsOwner())} />
  </Form>
);

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
  const reasonFor = ({ role }: User) => refusalFor(role) ?? (role === "owner" && owners === 1 ? lastOwner : undefined);
  return (
    <Page title="People" actions={<Invite />}>
      <OrganizationPart />
      <Records
        of={data?.users}
        error={error}
        empty="Nobody."
        columns={{
          Name: ({ id, name }) => (
            <>
              <Text of={name} class="strong" /> {id === session.value?.user_id && <span class="hint">(you)</span>}
            </>
          ),
          Email: ({ email }) => <Text of={email} />,
          Role: (one) => <RoleOf of={one} reason={reasonFor(one)} />,
          Joined: ({ joined_at }) => <Time at={joined_at} />,
          "": (one) => <Ends of={one} reason={reasonFor(one)} />,
        }}
      />
      {data && data.suspended.length > 0 && (
        <Section title="Suspended">
          {data.suspended.map((one) => (
            <Suspended key={one.id} of={one} />
          ))}
        </Section>
      )}
      {data && (
        <Section title="Invitations">
          <Records of={data.invitations} empty="No open invitation." columns={invitedColumns} />
        </Section>
      )}
    </Page>
  );
}

const lastOwner = "This is the last active owner; promote another person first.";

/** Why the acting person may not change a user with this role; undefined if they may. */
function refusalFor(role: Role): string | undefined {
  const isBarred = role === "owner" && !actsAsOwner();
  return refusal("users:write") ?? (isBarred ? "Only an owner may change an owner." : undefined);
}

interface Changed {
  readonly of: User;
  readonly reason: string | undefined;
}

function RoleOf({ of: { id, name, role }, reason }: Changed) {
  const [error, setError] = useState<unknown>();
  const [isAsking, setAsking] = useState(false);
  const close = () => setAsking(false);
  const change = async (text: string) => {
    setError(undefined);
    close();
    await api.users.update({ id, role: roleOf(text) }).catch(setError);
    refreshAll();
  };
  return (
    <>
      <Select
        isBare
        key={String(isAsking)}
        label={`Role of ${name}`}
        value={role}
        options={roleOptions(actsAsOwner() || role === "owner")}
        reason={reason}
        // An arrow key chooses at once: what gives everything away asks.
        onChange={(text) => (text === "owner" ? setAsking(true) : void change(text))}
      />
      <Problem error={error} />
      {isAsking && (
        <Modal label="Make owner" close={close}>
          <div class="stack">
            <h2>
              Make <Text of={name} /> an owner?
            </h2>
            <p>An owner may do everything, and change other owners.</p>
            <div class="row end">
              <Button kind="quiet" onClick={close}>
                Close
              </Button>
              <Button kind="main" onClick={() => change("owner")}>
                Make owner
              </Button>
            </div>
          </div>
        </Modal>
      )}
    </>
  );
}

const Ends = ({ of: { id, name }, reason }: Changed) => (
  <>
    <FormDialog
      label="Suspend"
      title={`Suspend ${name}?`}
      kind="quiet"
      reason={reason}
      run={() => api.users.suspend({ id })}
    >
      <p>
        The keys of <Text of={name} /> stop working immediately, and work again after a reactivation.
      </p>
    </FormDialog>
    <FormDialog
      label="Remove"
      title={`Remove ${name}?`}
      kind="danger"
      reason={reason}
      run={() => api.users.delete({ id })}
    >
      <p>
        <Text of={name} /> leaves the organization, and all keys of this person stop working immediately.
      </p>
    </FormDialog>
  </>
);

const Suspended = ({ of: { id, name, email, role } }: { of: User }) => (
  <div class="row spread">
    <Text of={`${name}, ${email}, ${role}`} />
    <Action kind="quiet" reason={refusalFor(role)} run={() => api.users.reactivate({ id })}>
      Reactivate
    </Action>
  </div>
);

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
      The mail is stored but not sent: no mail server is set (option <code>mail.url</code>).{" "}
      {session.value?.mode === "dev" ? (
        <a href={href("/mail")}>Open the mail</a>
      ) : (
        <>
          The operator can read its link with <code>svc-server mail</code>.
        </>
      )}
    </p>
  );
}

const invitedColumns = {
  Person: (of: Invitation) => (
    <>
      <Text of={`${of.email} as ${of.role}`} class="strong" />
      <Mailed of={of} />
    </>
  ),
  Until: ({ expires_at }: Invitation) => <span class="nowrap">{instantOf(expires_at)} UTC</span>,
  "": ({ id, role, email }: Invitation) => (
    <>
      <Action
        kind="quiet"
        reason={
          refusal("users:write") ??
          (role === "owner" && !actsAsOwner() ? "Only an owner may invite an owner." : undefined)
        }
        run={() => api.invitations.resend({ id })}
      >
        Send again
      </Action>
      <FormDialog
        label="Revoke"
        title="Revoke this invitation?"
        kind="danger"
        reason={refusal("users:write")}
        run={() => api.invitations.revoke({ id })}
      >
        <p>
          The link that <Text of={email} /> has stops working.
        </p>
      </FormDialog>
    </>
  ),
};
