import { calls } from "../../../client/generated/calls.ts";
import { api } from "../api.ts";
import { Select } from "../controls.tsx";
import { useRead } from "../live.ts";
import { Records } from "../parts.tsx";
import { place, setQuery } from "../router.ts";
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
  const [action, user_id, cursor] = ["action", "user_id", "cursor"].map((name) => query.get(name) ?? "");
  const { data: users } = useRead(
    "audit users",
    async (signal) => (await api.users.list({}, { signal })).data,
    ({ kind }) => kind === "rights",
  );
  const names = new Map(users?.map(({ id, name }) => [id, name]));
  const { data, error } = useRead(
    `audit ${action} ${user_id} ${cursor}`,
    (signal) =>
      api["audit-log"].list(
        { per_page: 50, ...(action && { action }), ...(user_id && { user_id }), ...(cursor && { cursor }) },
        { signal },
      ),
    ({ kind }) => kind === "record" || kind === "rights",
  );
  return (
    <Page title="Audit log">
      <search class="filters">
        <Select
          label="Action"
          value={action ?? ""}
          options={[["", "All actions"], ...actions.map((one): [string, string] => [one, one])]}
          onChange={(value) => setQuery({ action: value, cursor: "" })}
        />
        <Select
          label="Person"
          value={user_id ?? ""}
          options={[["", "Everybody"], ...[...names].map(([id, name]): [string, string] => [id, name])]}
          onChange={(value) => setQuery({ user_id: value, cursor: "" })}
        />
      </search>
      <Records
        of={data?.data}
        error={error}
        empty={action || user_id ? "No such change." : "Nothing has been changed yet."}
        head={["Time", "Action", "Target", "Person", "Via", "Address", "Request"]}
        wide={["Address", "Request"]}
        row={(one) => (
          <tr key={one.id}>
            <td>
              <Time at={one.at} />
            </td>
            <td class="mono">
              <Text of={one.action} />
            </td>
            <td class="mono">
              <Text of={one.target ?? ""} />
            </td>
            <td>
              <Text of={names.get(one.user_id ?? "") ?? one.user_id ?? "nobody"} />
              {one.key_id !== null && <div class="hint mono">{one.key_id}</div>}
            </td>
            <td data-label="by">{one.via}</td>
            <td class="wide mono">{one.address ?? ""}</td>
            <td class="wide mono">
              <Text of={one.request_id ?? ""} />
            </td>
          </tr>
        )}
      />
      <Pages next={data?.meta.next_cursor ?? null} />
    </Page>
  );
}
