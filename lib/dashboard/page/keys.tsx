import { useState } from "preact/hooks";
import { scopes } from "../../kernel/roles.ts";
import { api } from "./api.ts";
import { Field, FormDialog, Once } from "./controls.tsx";
import { useRead } from "./live.ts";
import { Empty, Loading, Page, Text, Time } from "./ui.tsx";

export function KeysPage() {
  const [made, setMade] = useState<string>();
  const { data, error } = useRead(
    "keys",
    async (signal) => {
      const [keys, users] = await Promise.all([api.keys.list({}, { signal }), api.users.list({}, { signal })]);
      return { keys: keys.data, names: new Map(users.data.map(({ id, name }) => [id, name])) };
    },
    ({ kind }) => kind === "rights",
  );
  return (
    <Page title="API keys" actions={<NewKey made={setMade} />}>
      {made !== undefined && <Once label="New API key" secret={made} />}
      {!data && <Loading error={error} />}
      {data?.keys.length === 0 && <Empty>No key yet. A program needs one to call the interface.</Empty>}
      {data && data.keys.length > 0 && (
        <div class="table-place">
          <table class="rows">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Person</th>
                <th scope="col">Scopes</th>
                <th scope="col" class="wide">
                  Created
                </th>
                <th scope="col">Last used</th>
                <th scope="col">
                  <span class="unseen">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {data.keys.map((one) => (
                <tr key={one.id}>
                  <td>
                    <Text of={one.name} />
                  </td>
                  <td>
                    <Text of={data.names.get(one.user_id) ?? one.user_id} />
                  </td>
                  <td>{one.scopes.includes("*") ? "all" : one.scopes.join(", ")}</td>
                  <td class="wide">
                    <Time at={one.created_at} />
                  </td>
                  <td>{one.last_used_at === null ? "never" : <Time at={one.last_used_at} />}</td>
                  <td class="end">
                    <FormDialog label="Revoke" kind="quiet" run={() => api.keys.revoke({ id: one.id })}>
                      <p>
                        The key <Text of={one.name} /> ends at once, and programs that use it are refused.
                      </p>
                    </FormDialog>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Page>
  );
}

function NewKey({ made }: { readonly made: (key: string) => void }) {
  const [name, setName] = useState("");
  const [chosen, setChosen] = useState<readonly (typeof scopes)[number][]>([]);
  const run = async () => {
    const { key } = await api.keys.create({ name, ...(chosen.length > 0 && { scopes: [...chosen] }) });
    made(key);
    setName("");
  };
  return (
    <FormDialog label="New API key" kind="main" submit="Create" run={run}>
      <Field label="Name" value={name} onInput={setName} required />
      <fieldset>
        <legend>Scopes</legend>
        <p class="hint">None chosen means all that you have.</p>
        <div class="checks">
          {scopes.map((scope) => (
            <label key={scope} class="check">
              <input
                type="checkbox"
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
