import { calls } from "../../../client/generated/calls.ts";
import { Select } from "../controls.tsx";
import { filled } from "../forms/form.tsx";
import { useCall } from "../live.ts";
import { useNames } from "../names.ts";
import { Records, Ref } from "../parts.tsx";
import { requestsOf } from "../recent-requests.ts";
import { href, place, setQuery } from "../router.ts";
import { useLaneNames } from "../timeline-names.ts";
import { Page, Text, Time } from "../ui.tsx";
import { Pages } from "./projects.tsx";

/** The audit log has no entries for these, because each creates a record that documents itself. */
const leftOut = ["deployments.create", "generations.create"];
const actions = [
  "sign-in.refused",
  // A first sign-in created its user.
  "users.create",
  // A push to a repository of this service.
  "branches.create",
  "branches.update",
  "branches.delete",
  ...Object.entries(calls).flatMap(([feature, verbs]) =>
    Object.entries(verbs).flatMap(([verb, call]) => (call.startsWith("GET ") ? [] : [`${feature}.${verb}`])),
  ),
].filter((action) => !leftOut.includes(action));

/** The audit log, newest first, for owners and admins. */
export function AuditLogPage() {
  const { query } = place.value;
  const [action = "", user_id = "", cursor = ""] = ["action", "user_id", "cursor"].map((name) => query.get(name) ?? "");
  const names = useNames();
  const records = useLaneNames();
  const { data: invitations } = useCall("invitations.list", {}, "record rights");
  const filter = filled({ action, user_id, cursor });
  const { data, error } = useCall("audit-log.list", { per_page: 50, ...filter }, "record rights");
  return (
    <Page title="Audit log">
      <p class="hint">
        Every change. Who began a deployment or a generation stands on <a href={href("/deployments")}>its own page</a>.
      </p>
      <search class="filters">
        <Select
          label="Action"
          value={action}
          options={[["", "All actions"], ...actions.map((one): [string, string] => [one, one])]}
          onChange={(value) => setQuery({ action: value, cursor: "" })}
        />
        <Select
          label="Person"
          value={user_id}
          options={[["", "Everybody"], ...names.people]}
          onChange={(value) => setQuery({ user_id: value, cursor: "" })}
        />
      </search>
      <Records
        of={data?.data}
        error={error}
        empty={action || user_id ? "No such change." : "Nothing has been changed yet."}
        columns={{
          Action: ({ action }) => <Text of={action} class="mono" />,
          Target: ({ target }) =>
            target && (
              <Ref of={target}>
                {records.get(target) ??
                  names.people.get(target) ??
                  names.keys.get(target) ??
                  invitations?.data.find(({ id }) => id === target)?.email ??
                  target}
              </Ref>
            ),
          Person: ({ user_id, key_id }) => (
            <>
              <Text of={names.person(user_id) || "nobody"} />
              {key_id !== null && (
                <div class="hint">
                  key <Text of={names.key(key_id)} />
                </div>
              )}
            </>
          ),
          Time: ({ at }) => <Time at={at} />,
          Via: ({ via }) => via,
          Address: ({ address }) => address && <Text of={address} class="mono" />,
          Request: ({ request_id }) =>
            request_id && <Ref of={request_id} to={requestsOf(request_id)}>{`…${request_id.slice(-8)}`}</Ref>,
        }}
      />
      <Pages next={data?.meta.next_cursor ?? null} />
    </Page>
  );
}
