import { Fragment } from "preact";
import type { Integration } from "../../../client/generated/records.ts";
import { api, session } from "../api.ts";
import { Field, Select } from "../controls.tsx";
import { CheckField, Form, listOf } from "../forms/form.tsx";
import { useCall } from "../live.ts";
import { Copy, Facts, Ref, textsOf } from "../parts.tsx";
import { refusal } from "../permissions.ts";
import { TurnedOff } from "../receiver-health.tsx";
import { go, origin } from "../router.ts";
import { loadingPage, Page, Section, Status } from "../ui.tsx";
import { DeliveriesPart } from "./deliveries.tsx";
import { EndpointActions, EndpointsPage, EventsField, HeadersField, headersOf, headersText } from "./endpoint.tsx";

type Type = Integration["type"];
type Values = Record<string, string>;

interface ConfigField {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly isOptional?: true;
  /** The service never shows a secret again, so an empty field keeps the stored one. */
  readonly isSecret?: true;
}

const names: Readonly<Record<Type, string>> = {
  code_host: "Code host: deploys pushes",
  chat: "Chat: posts what happens",
  monitoring: "Monitoring: sends events and metrics",
  custom: "Custom: posts events to a URL",
};
const types = Object.keys(names) as Type[];
const typeOf = (text = ""): Type => types.find((one) => one === text) ?? "chat";

const fields: Readonly<Record<Type, readonly ConfigField[]>> = {
  code_host: [
    { name: "repo", label: "Repository", hint: "owner/repo" },
    { name: "branch", label: "Branch" },
    { name: "environment", label: "Environment" },
    {
      name: "project_id",
      label: "Project",
      hint: "proj_…; empty means the project that last deployed it",
      isOptional: true,
    },
    { name: "previews", label: "Deploy each pull request to its own environment" },
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
    { name: "headers", label: "Headers" },
  ],
};

const started: Values = { type: "chat", repo: "", branch: "main", environment: "production", events: "*" };

/** The form field that says whether to remove the stored secret. */
const removal = "secret_removed";

/**
 * The fields to send: null clears an optional field. An empty secret keeps the stored one, unless it is to be removed.
 */
function configOf(type: Type, values: Values, isNew: boolean): Record<string, unknown> {
  const entries = fields[type].flatMap(({ name, isOptional, isSecret }): [string, unknown][] => {
    const value = values[name]?.trim() ?? "";
    if (name === "events") return [[name, listOf(value)]];
    if (name === "headers") return [[name, headersOf(value)]];
    if (name === "previews") return value === "" ? [] : [[name, value === "true"]];
    if (value === "" && isSecret && isOptional && values[removal] === "true") return [[name, null]];
    if (value === "" && (isNew || isSecret)) return [];
    return [[name, value === "" && isOptional ? null : value]];
  });
  return Object.fromEntries(entries);
}

/** The fields of a type. `hasSecret` says whether an optional secret is stored. */
const Config = ({ type, isNew, hasSecret = false }: { type: Type; isNew: boolean; hasSecret?: boolean }) =>
  fields[type].map(({ name, label, hint, isOptional, isSecret }) =>
    name === "events" ? (
      <EventsField key={name} />
    ) : name === "headers" ? (
      <HeadersField key={name} />
    ) : name === "previews" ? (
      <CheckField key={name} label={label} name={name} />
    ) : (
      <Fragment key={name}>
        <Field
          label={label}
          name={name}
          type={isSecret ? "password" : "text"}
          required={!isOptional && (isNew || !isSecret)}
          hint={isSecret && !isNew ? "Empty keeps the stored one." : hint}
        />
        {isSecret && isOptional && hasSecret && <CheckField label="Remove the stored secret" name={removal} />}
      </Fragment>
    ),
  );

function NewIntegration() {
  const run = async ({ type: text, ...values }: Values) => {
    const type = typeOf(text);
    const made = await api.integrations.create({ type, config: configOf(type, values, true) as never });
    go(`/integrations/${made.id}`);
  };
  return (
    <Form
      label="New integration"
      kind="main"
      submit="Create"
      reason={refusal("integrations:write")}
      start={started}
      run={run}
    >
      {({ type }) => (
        <>
          <Select label="Type" options={types.map((one): [string, string] => [one, names[one]])} />
          {type === "monitoring" && session.value?.plan === "starter" && (
            <p class="hint">Monitoring needs the pro or enterprise plan; this organization has starter.</p>
          )}
          <Config type={typeOf(type)} isNew />
        </>
      )}
    </Form>
  );
}

export const IntegrationsPage = () => (
  <EndpointsPage
    family="integrations"
    title="Integrations"
    create={<NewIntegration />}
    empty="No integration yet. Connect a code host, a chat, a monitoring provider, or a service of your own."
    head={["Name", "Type"]}
    name={({ name }) => name}
    about={({ type }) => type.replace("_", " ")}
    sends={({ type }) => type !== "code_host"}
  />
);

export function IntegrationPage({ id }: { id: string }) {
  const { data, error } = useCall("integrations.get", { id }, `${id} delivery`);
  if (!data) return loadingPage("Integration", error);
  const hook = `${origin}/hooks/code-host/${id}`;
  return (
    <Page title={data.name} actions={<Actions of={data} />}>
      <p class="facts">
        <Status of={data.status} />
        <Ref of={data.id} />
        <span>{data.type.replace("_", " ")}</span>
      </p>
      {data.type !== "code_host" && <TurnedOff family="integrations" of={data} />}
      <Section title="Configuration">
        <Facts of={textsOf(data.config)} />
      </Section>
      {data.type === "code_host" ? (
        <Section title="Where pushes arrive" actions={<Copy text={hook} />}>
          <p class="mono">{hook}</p>
          <p class="hint">Add this address to the repository as a webhook for pushes, as JSON.</p>
        </Section>
      ) : (
        <DeliveriesPart family="integrations" id={id} />
      )}
    </Page>
  );
}

function Actions({ of }: { of: Integration }) {
  const { id, type } = of;
  const reason = refusal("integrations:write");
  const stored = Object.fromEntries(
    fields[type].map(({ name, isSecret }) => {
      const value = name === "headers" ? headersText(of.config[name]) : of.config[name];
      return [name, isSecret || value === undefined ? "" : Array.isArray(value) ? value.join(", ") : String(value)];
    }),
  );
  const sendsNothing = type === "code_host" ? "A code host receives pushes; nothing is sent to it." : undefined;
  return (
    <EndpointActions family="integrations" of={of} sendsNothing={sendsNothing}>
      <Form
        label="Edit"
        submit="Save"
        reason={reason}
        start={stored as Values}
        run={(values) => api.integrations.update({ id, config: configOf(type, values, false) })}
      >
        <Config type={type} isNew={false} hasSecret={of.config["secret"] !== undefined} />
      </Form>
    </EndpointActions>
  );
}
