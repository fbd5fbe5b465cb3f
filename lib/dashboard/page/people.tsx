import { useState } from "preact/hooks";
import type { Invitation, User } from "../../client/records.ts";
import { type Role, roles } from "../../kernel/roles.ts";
import { api, session } from "./api.ts";
import { Action, Field, FormDialog, Problem, Select } from "./controls.tsx";
import { tellAll, useRead } from "./live.ts";
import { refusal } from "./may.ts";
import { instantOf } from "./time.ts";
import { Empty, Loading, Page, Section, Text, Time } from "./ui.tsx";

const roleOptions = roles.map((one): [string, string] => [one, one]);
const roleOf = (text: string): Role => roles.find((one) => one === text) ?? "viewer";

function Invite() {
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<Role>("developer");
  const run = async () => {
    await api.users.invite({ email: email.trim(), role });
    setEmail("");
  };
  return (
    <FormDialog label="Invite" kind="main" reason={refusal("users:write")} run={run}>
      <Field label="Email" type="email" value={email} onInput={setEmail} required />
      <Select label="Role" value={role} options={roleOptions} onChange={(text) => setRole(roleOf(text))} />
    </FormDialog>
  );
}

export function PeoplePage() {
  const { data, error } = useRead(
    "people-page",
    async (signal) => {
      const [users, invitations] = await Promise.all([
        api.users.list({}, { signal }),
        api.invitations.list({}, { signal }),
      ]);
      return { users: users.data, invitations: invitations.data };
    },
    ({ kind, event }) => kind === "rights" || event?.startsWith("user.") === true,
  );
  return (
    <Page title="People" actions={<Invite />}>
      {!data && <Loading error={error} />}
      {data && (
        <>
          <div class="table-place">
            <table class="rows">
              <thead>
                <tr>
                  <th scope="col">Name</th>
                  <th scope="col">Email</th>
                  <th scope="col">Role</th>
                  <th scope="col">Joined</th>
                  <th scope="col">
                    <span class="unseen">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {data.users.map((one) => (
                  <Member key={one.id} of={one} />
                ))}
              </tbody>
            </table>
          </div>
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

function Member({ of }: { readonly of: User }) {
  const reason = refusal("users:write");
  const [error, setError] = useState<unknown>();
  const change = async (role: Role) => {
    setError(undefined);
    await api.users.update({ id: of.id, role }).catch(setError);
    tellAll();
  };
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
          options={roleOptions}
          reason={reason}
          onChange={(text) => void change(roleOf(text))}
        />
        <Problem error={error} />
      </td>
      <td>
        <Time at={of.joined_at} />
      </td>
      <td class="end">
        <FormDialog label="Remove" kind="quiet" reason={reason} run={() => api.users.delete({ id: of.id })}>
          <p>
            <Text of={of.name} /> leaves the organization, and all keys of this person end at once.
          </p>
        </FormDialog>
      </td>
    </tr>
  );
}

function Invited({ of }: { readonly of: Invitation }) {
  const reason = refusal("users:write");
  return (
    <div class="row spread">
      <span>
        <Text of={of.email} /> as {of.role}, until {instantOf(of.expires_at)} UTC
      </span>
      <span class="row">
        <Action kind="quiet" reason={reason} run={() => api.invitations.resend({ id: of.id })}>
          Send again
        </Action>
        <Action kind="quiet" reason={reason} run={() => api.invitations.revoke({ id: of.id })}>
          Revoke
        </Action>
      </span>
    </div>
  );
}
