import { useState } from "preact/hooks";
import type { Integration } from "../../client/records.ts";
import { api, session } from "./api.ts";
import { Action, Field, FormDialog, Select } from "./controls.tsx";
import { DeliveriesPart } from "./deliveries.tsx";
import { listOf, useForm } from "./form.tsx";
import { useRead } from "./live.ts";
import { refusal } from "./may.ts";
import { Copy, Facts, Table, textsOf } from "./parts.tsx";
import { go, href } from "./router.ts";
import { Empty, Loading, Page, Section, Status, Text, Time } from "./ui.tsx";
import { EventsField } from "./webhooks.tsx";

type Type = Integration["type"];
type Values = Record<string, string>;

interface ConfigField {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly isOptional?: true;
  /** It is never read again, so an empty field keeps what is stored. */
  readonly isSecret?: true;
}

const names: Readonly<Record<Type, string>> = {
  code_host: "Code host: deploys what is pushed",
  chat: "Chat: posts what happens",
  monitoring: "Monitoring: sends events and metrics",
  custom: "Custom: posts events to an URL",
};
const types = Object.keys(names) as Type[];

const fields: Readonly<Record<Type, readonly ConfigField[]>> = {
  code_host: [
    { name: "repo", label: "Repository", hint: "owner/repo" },
    { name: "branch", label: "Branch" },
    { name: "environment", label: "Environment" },
    {
      name: "project_id",
      label: "Project",
      hint: "proj_…; empty means the one that last deployed it",
      isOptional: true,
    },
    { name: "secret", label: "Secret", hint: "It signs the pushes.", isOptional: true, isSecret: true },
  ],
  chat: [
    { name: "webhook_url", label: "Webhook URL", hint: "https://…", isSecret: true },
    { name: "channel", label: "Channel", isOptional: true },
    { name: "events", label: "Events" },
  ],
  monitoring: [
    { name: "api_key", label: "API key of the provider", isSecret: true },
    { name: "site", label: "Site", hint: "datadoghq.eu" },
    { name: "service", label: "Service", isOptional: true },
  ],
  custom: [
    { name: "url", label: "URL", hint: "https://…" },
    { name: "events", label: "Events" },
    { name: "secret", label: "Secret", hint: "It signs every delivery.", isOptional: true, isSecret: true },
  ],
};

const started = { repo: "", branch: "main", environment: "production", events: "*" };

/** What is sent of a form: null clears an optional field, and an empty secret stays as it is. */
function configOf(type: Type, values: Values, isNew: boolean): Record<string, unknown> {
  const entries = fields[type].flatMap(({ name, isOptional, isSecret }): [string, unknown][] => {
    const value = values[name]?.trim() ?? "";
    if (name === "events") return [[name, listOf(value)]];
    if (value === "" && (isNew || isSecret)) return [];
    return [[name, value === "" && isOptional ? null : value]];
  });
  return Object.fromEntries(entries);
}

function Config({
  type,
  field,
  isNew,
}: {
  readonly type: Type;
  readonly field: (name: string) => { readonly value: string; readonly onInput: (value: string) => void };
  readonly isNew: boolean;
}) {
  return fields[type].map(({ name, label, hint, isOptional, isSecret }) =>
    name === "events" ? (
      <EventsField key={name} {...field(name)} />
    ) : (
      <Field
        key={name}
        label={label}
        {...field(name)}
        type={isSecret ? "password" : "text"}
        required={!isOptional && (isNew || !isSecret)}
        {...(isSecret && !isNew ? { hint: "Empty keeps the stored one." } : hint && { hint })}
      />
    ),
  );
}

function NewIntegration() {
  const [type, setType] = useState<Type>("chat");
  const { values, field } = useForm<Values>(started);
  const run = async () => {
    const made = await api.integrations.create({ type, config: configOf(type, values, true) });
    go(`/integrations/${made.id}`);
  };
  const isBarred = type === "monitoring" && session.value?.plan === "starter";
  return (
    <FormDialog label="New integration" kind="main" submit="Create" reason={refusal("integrations:write")} run={run}>
      <Select
        label="Type"
        value={type}
        options={types.map((one): [string, string] => [one, names[one]])}
        onChange={(text) => setType(types.find((one) => one === text) ?? "chat")}
      />
      {isBarred && <p class="hint">Monitoring needs the plan pro or enterprise; this organization has starter.</p>}
      <Config type={type} field={field} isNew />
    </FormDialog>
  );
}

export function IntegrationsPage() {
  const { data, error } = useRead(
    "integrations",
    (signal) => api.integrations.list({}, { signal }),
    ({ kind }) => kind === "delivery" || kind === "record",
  );
  return (
    <Page title="Integrations" actions={<NewIntegration />}>
      {!data && <Loading error={error} />}
      {data?.data.length === 0 && (
        <Empty>No integration yet. Connect a code host, a chat, a monitoring provider, or a service of your own.</Empty>
      )}
      {data && data.data.length > 0 && (
        <Table head={["State", "Name", "Type", "Created"]}>
          {data.data.map((one) => (
            <tr key={one.id}>
              <td>
                <Status of={one.status} />
              </td>
              <td>
                <a href={href(`/integrations/${one.id}`)}>
                  <Text of={one.name} />
                </a>
              </td>
              <td>{one.type.replace("_", " ")}</td>
              <td>
                <Time at={one.created_at} />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Page>
  );
}

export function IntegrationPage({ id }: { readonly id: string }) {
  const { data, error } = useRead(
    `integration ${id}`,
    (signal) => api.integrations.get({ id }, { signal }),
    (hint) => hint.id === id || hint.kind === "delivery",
  );
  if (!data) {
    return (
      <Page title="Integration">
        <Loading error={error} />
      </Page>
    );
  }
  const hook = `${location.origin}/hooks/code-host/${id}`;
  return (
    <Page title={data.name} actions={<Actions of={data} />}>
      <p class="facts">
        <Status of={data.status} />
        <span class="mono">{data.id}</span>
        <span>{data.type.replace("_", " ")}</span>
      </p>
      <Section title="Configuration">
        <Facts of={textsOf(data.config)} />
      </Section>
      {data.type === "code_host" ? (
        <Section title="Where pushes arrive" actions={<Copy text={hook}>Copy</Copy>}>
          <p class="mono">{hook}</p>
          <p class="hint">Set this address as a webhook of the repository, for pushes, as JSON.</p>
        </Section>
      ) : (
        <DeliveriesPart family="integrations" id={id} />
      )}
    </Page>
  );
}

function Actions({ of }: { readonly of: Integration }) {
  const { id, type } = of;
  const reason = refusal("integrations:write");
  const isOff = of.status === "inactive";
  const stored = Object.fromEntries(
    fields[type].map(({ name, isSecret }) => {
      const value = of.config[name];
      return [name, isSecret || value === undefined ? "" : Array.isArray(value) ? value.join(", ") : String(value)];
    }),
  );
  const { values, field, reset } = useForm<Values>(stored);
  const sendsNothing = type === "code_host" ? "A code host receives pushes; nothing is sent to it." : undefined;
  return (
    <>
      <Action reason={reason} run={() => api.integrations.update({ id, status: isOff ? "active" : "inactive" })}>
        {isOff ? "Turn on" : "Turn off"}
      </Action>
      <Action reason={reason ?? sendsNothing} run={() => api.integrations.test({ id })}>
        Send a test
      </Action>
      <FormDialog
        label="Edit"
        submit="Save"
        reason={reason}
        onOpen={() => reset(stored)}
        run={() => api.integrations.update({ id, config: configOf(type, values, false) })}
      >
        <Config type={type} field={field} isNew={false} />
      </FormDialog>
      <FormDialog
        label="Delete"
        kind="danger"
        reason={reason}
        run={async () => {
          await api.integrations.delete({ id });
          go("/integrations");
        }}
      >
        <p>The integration goes with its deliveries, and pending ones are not sent.</p>
      </FormDialog>
    </>
  );
}
