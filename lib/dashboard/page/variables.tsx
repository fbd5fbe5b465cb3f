import type { Environment } from "../../client/generated/records.ts";
import { isSecretName } from "../../kernel/secrets/secret-redaction.ts";
import { api } from "./api.ts";
import { Field, FormDialog, Select } from "./controls.tsx";
import { Form } from "./forms/form.tsx";
import { refusal } from "./permissions.ts";
import { Text } from "./ui.tsx";

interface Part {
  readonly project_id: string;
  readonly of: Environment;
}

const changeOf =
  ({ project_id, of }: Part) =>
  (name: string, value: Value | null) =>
    api.environments.update({ id: project_id, name: of.name, variables: { [name]: value as string } });

/** The button and the form for one more variable. */
export const NewVariable = (part: Part) => <SetVariable reason={refusal("deployments:write")} set={changeOf(part)} />;

/** The variables of an environment. */
export function Variables({ project_id, of }: Part) {
  const variables = Object.entries(of.variables);
  const reason = refusal("deployments:write");
  const change = changeOf({ project_id, of });
  return (
    <div class="table-place">
      <table class="rows variables">
        <caption class="unseen">Variables of {of.name}</caption>
        <tbody>
          {variables.map(([name, value]) => (
            <tr key={name}>
              <th scope="row" class="mono">
                <Text of={name} />
              </th>
              <td class="mono">{typeof value === "string" ? <Text of={value.slice(0, 2000)} /> : <em>secret</em>}</td>
              <td class="end">
                <SetVariable
                  label="Change"
                  reason={reason}
                  stored={{
                    name,
                    value: typeof value === "string" ? value : "",
                    kind: typeof value === "string" ? "plain" : "secret",
                  }}
                  set={change}
                />
                <FormDialog
                  label="Remove"
                  title={`Remove ${name}?`}
                  kind="danger"
                  reason={reason}
                  run={() => change(name, null)}
                >
                  <p>The next deployment to {of.name} does not have it.</p>
                </FormDialog>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

type Value = string | { readonly value?: string; readonly secret: boolean };

const unset = { name: "", value: "", kind: "" };

/** A name such as `STRIPE_KEY`, and a URL with a password. */
const keyName = /(^|_)(key|pass|pwd|dsn)$/i;
const withPassword = /^[a-z][a-z\d+.-]{0,20}:\/\/[^/?#@\s]{0,200}:[^/?#@\s]{1,200}@/i;

/** The chosen kind; before a choice, secret for what looks like a secret. */
const kindOf = ({ name, value, kind }: typeof unset): string => {
  if (kind !== "") return kind;
  const isSecret = isSecretName(name.trim()) || keyName.test(name.trim()) || withPassword.test(value.trim());
  return isSecret ? "secret" : "plain";
};

/** Sets one variable; others that somebody else changes meanwhile stay. */
function SetVariable({
  label = "Set a variable",
  reason,
  stored,
  set,
}: {
  readonly label?: "Set a variable" | "Change";
  /** The variable to edit; undefined for a new one. */
  readonly stored?: typeof unset;
  readonly reason: string | undefined;
  readonly set: (name: string, value: Value) => Promise<unknown>;
}) {
  const run = async ({ name, value, kind: chosen }: typeof unset) => {
    const kind = kindOf({ name, value, kind: chosen });
    // Without a value, the stored secret stays.
    const isKept = stored?.kind === "secret" && value === "";
    await set(name.trim(), kind === "plain" ? value : isKept ? { secret: true } : { value, secret: true });
  };
  const kept = { hint: "The stored value is never shown. Leave this empty to keep it." };
  return (
    <Form
      label={label}
      submit="Save"
      {...(stored && { kind: "quiet" })}
      reason={reason}
      start={stored ?? unset}
      run={run}
    >
      {(values, change) => (
        <>
          {stored ? (
            <p>
              <Text of={stored.name} class="mono" />
            </p>
          ) : (
            <Field label="Variable" name="name" hint="The next deployment uses it." required />
          )}
          <Field label="Value" {...(stored?.kind === "secret" && kept)} />
          <Select
            label="Kind"
            value={kindOf(values)}
            onChange={(kind) => change({ kind })}
            options={[
              ["plain", "Plain: everyone can read it"],
              ["secret", "Secret: nobody can read it again"],
            ]}
          />
        </>
      )}
    </Form>
  );
}
