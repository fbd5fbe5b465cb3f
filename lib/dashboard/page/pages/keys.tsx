import { useState } from "preact/hooks";
import { covers, scopes } from "../../../kernel/roles.ts";
import { api, session } from "../api.ts";
import { Field, FormDialog, Select } from "../controls.tsx";
import { instantOf } from "../format-time.ts";
import { useForm } from "../forms/form.tsx";
import { serviceNow, useRead } from "../live.ts";
import { Once } from "../once.tsx";
import { Records } from "../parts.tsx";
import { scopeRefusal } from "../permissions.ts";
import { Page, Text, Time } from "../ui.tsx";

const day_ms = 86_400_000;
const lifetimes: readonly (readonly [string, string])[] = [
  ["", "never"],
  ["1", "in a day"],
  ["30", "in 30 days"],
  ["365", "in a year"],
];

export function KeysPage() {
  const [made, setMade] = useState<string>();
  const { data, error } = useRead(
    "keys",
    async (signal) => {
      const [keys, users] = await Promise.all([api.keys.list({}, { signal }), api.users.list({}, { signal })]);
      return { keys: keys.data, names: new Map(users.data.map(({ id, name }) => [id, name])) };
    },
    ({ kind }) => kind === "rights" || kind === "record",
  );
  return (
    <Page title="API keys" actions={<NewKey made={setMade} />}>
      {made !== undefined && <Once label="New API key" secret={made} />}
      <Records
        of={data?.keys}
        error={error}
        empty="No key yet. A program needs one to call the API."
        head={["Name", "Person", "Scopes", "Created", "Last used", "Expires", ""]}
        wide={["Created"]}
        row={(one) => (
          <tr key={one.id}>
            <td>
              <Text of={one.name} />
              {one.created_by_key_id !== null && (
                <div class="hint">
                  made by{" "}
                  <Text of={data?.keys.find(({ id }) => id === one.created_by_key_id)?.name ?? "an ended key"} />
                </div>
              )}
            </td>
            <td>
              <Text of={data?.names.get(one.user_id) ?? one.user_id} />
            </td>
            <td>{one.scopes.includes("*") ? "all" : one.scopes.join(", ")}</td>
            <td class="wide">
              <Time at={one.created_at} />
            </td>
            <td data-label="used">{one.last_used_at === null ? "never" : <Time at={one.last_used_at} />}</td>
            <td data-label="expires">{one.expires_at === null ? "never" : `${instantOf(one.expires_at)} UTC`}</td>
            <td class="end">
              <RevokeKey id={one.id} name={one.name} />
            </td>
          </tr>
        )}
      />
    </Page>
  );
}

function RevokeKey({ id, name }: { readonly id: string; readonly name: string }) {
  const [cascade, setCascade] = useState(false);
  return (
    <FormDialog
      label="Revoke"
      title={`Revoke ${name}?`}
      kind="danger"
      reason={scopeRefusal("users:write")}
      onOpen={() => setCascade(false)}
      run={() => api.keys.revoke({ id, ...(cascade && { cascade: true }) })}
    >
      <p>
        The key <Text of={name} /> stops working immediately, and programs that use it are refused.
      </p>
      <label class="check">
        <input type="checkbox" checked={cascade} onChange={({ currentTarget }) => setCascade(currentTarget.checked)} />
        Revoke the keys that it made too
      </label>
    </FormDialog>
  );
}

function NewKey({ made }: { readonly made: (key: string) => void }) {
  const { values, field, choice, reset } = useForm({ name: "", expires: "" });
  const [chosen, setChosen] = useState<readonly (typeof scopes)[number][]>([]);
  const run = async () => {
    const { name, expires } = values;
    const now = serviceNow();
    const { key } = await api.keys.create({
      name,
      ...(chosen.length > 0 && { scopes: [...chosen] }),
      ...(expires && { expires_at: new Date(now + Number(expires) * day_ms).toISOString() }),
    });
    made(key);
    reset();
  };
  return (
    <FormDialog label="New API key" kind="main" submit="Create" reason={scopeRefusal("users:write")} run={run}>
      <Field label="Name" {...field("name")} required />
      <Select label="Expires" {...choice("expires")} options={lifetimes} />
      <fieldset>
        <legend>Scopes</legend>
        <p class="hint">Choose none to give it all of yours. No key gets more than you have.</p>
        <div class="checks">
          {scopes.map((scope) => (
            <label key={scope} class="check">
              <input
                type="checkbox"
                disabled={!covers(session.value?.scopes ?? [], scope)}
                checked={chosen.includes(scope)}
                onChange={({ currentTarget }) =>
                  setChosen(currentTarget.checked ? [...chosen, scope] : chosen.filter((one) => one !== scope))
                }
              />
              {scope === "*" ? "everything" : scope}
            </label>
          ))}
        </div>
      </fieldset>
    </FormDialog>
  );
}
