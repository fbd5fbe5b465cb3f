import { useState } from "preact/hooks";
import { covers, scopes } from "../../../kernel/roles.ts";
import { api, session } from "../api.ts";
import { Button, Field, Select } from "../controls.tsx";
import { instantOf } from "../format-time.ts";
import { CheckField, Form } from "../forms/form.tsx";
import { serviceNow, useCall } from "../live.ts";
import { useNames } from "../names.ts";
import { Copy, Once, Records, Ref } from "../parts.tsx";
import { scopeRefusal } from "../permissions.ts";
import { origin } from "../router.ts";
import { Page, Text, Time } from "../ui.tsx";

const day_ms = 86_400_000;
const lifetimes: readonly (readonly [string, string])[] = [
  ["", "never"],
  ["1", "in a day"],
  ["30", "in 30 days"],
  ["365", "in a year"],
];

export function KeysPage() {
  const [made, setMade] = useState<{ name: string; key: string }>();
  const names = useNames();
  const { data, error } = useCall("keys.list", {}, "rights record");
  return (
    <Page title="API keys" actions={<NewKey made={setMade} />}>
      {made && (
        <>
          <Once label="The new API key" secret={made.key} />
          <p class="row">
            <span class="hint">
              This is the key <Text of={made.name} />.
            </span>
            <Copy text={`curl -H "Authorization: Bearer ${made.key}" ${origin}/v1/projects`}>Copy a call with it</Copy>
            <Button kind="quiet" onClick={() => setMade(undefined)}>
              Hide it
            </Button>
          </p>
        </>
      )}
      <Records
        of={data?.data}
        error={error}
        empty="No key yet. A program needs one to call the API."
        columns={{
          Name: ({ id, name, created_by_key_id: maker }) => (
            <>
              <Text of={name} class="strong" />
              <div class="hint">
                <Ref of={id} to={requestsOfKey(id)}>{`…${id.slice(-8)}`}</Ref>
                {maker !== null && (
                  <>
                    {" "}
                    made by <Text of={data?.data.find(({ id }) => id === maker)?.name ?? "an ended key"} />
                  </>
                )}
              </div>
            </>
          ),
          Person: ({ user_id }) => <Text of={names.person(user_id)} />,
          Scopes: (one) => (one.scopes.includes("*") ? "all" : one.scopes.join(", ")),
          Created: ({ created_at }) => <Time at={created_at} />,
          "Last used": ({ last_used_at }) => (last_used_at === null ? "never" : <Time at={last_used_at} />),
          Expires: ({ expires_at }) => (expires_at === null ? "never" : `${instantOf(expires_at)} UTC`),
          "": ({ id, name }) => <RevokeKey id={id} name={name} />,
        }}
      />
    </Page>
  );
}

const requestsOfKey = (id: string) => `/requests?key_id=${id}`;

const RevokeKey = ({ id, name }: { id: string; name: string }) => (
  <Form
    label="Revoke"
    title={`Revoke ${name}?`}
    kind="danger"
    reason={scopeRefusal("users:write")}
    start={{ cascade: "" }}
    run={({ cascade }) => api.keys.revoke({ id, ...(cascade === "true" && { cascade: true }) })}
  >
    <p>
      The key <Text of={name} /> stops working immediately, and programs that use it are refused.
    </p>
    <CheckField label="Revoke the keys that it made too" name="cascade" />
  </Form>
);

/** The form has a value for each scope too. */
const unset: Readonly<Record<string, string>> = { name: "", expires: "" };

const NewKey = ({ made }: { made: (one: { name: string; key: string }) => void }) => (
  <Form
    label="New API key"
    kind="main"
    submit="Create"
    reason={scopeRefusal("users:write")}
    start={unset}
    run={async ({ name = "", expires, ...chosen }) => {
      const wanted = scopes.filter((scope) => chosen[scope] === "true");
      const { key } = await api.keys.create({
        name,
        ...(wanted.length > 0 && { scopes: wanted }),
        ...(expires && { expires_at: new Date(serviceNow() + Number(expires) * day_ms).toISOString() }),
      });
      made({ name, key });
    }}
  >
    <Field label="Name" required />
    <Select label="Expires" options={lifetimes} />
    <fieldset>
      <legend>Scopes</legend>
      <p class="hint">Choose none to give it all of yours. No key gets more than you have.</p>
      <div class="checks">
        {scopes.map((scope) => (
          <CheckField
            key={scope}
            name={scope}
            label={scope === "*" ? "everything" : scope}
            isDisabled={!covers(session.value?.scopes ?? [], scope)}
          />
        ))}
      </div>
    </fieldset>
  </Form>
);
