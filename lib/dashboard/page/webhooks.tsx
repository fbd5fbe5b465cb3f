import type { Webhook } from "../../client/records.ts";
import { catalog } from "../../events/catalog.ts";
import { api } from "./api.ts";
import { Action, Field, FormDialog } from "./controls.tsx";
import { DeliveriesPart } from "./deliveries.tsx";
import { listOf, useForm } from "./form.tsx";
import { useRead } from "./live.ts";
import { refusal } from "./may.ts";
import { Table } from "./parts.tsx";
import { go, href } from "./router.ts";
import { Empty, Loading, Page, Status, Text, Time } from "./ui.tsx";

export const eventNames = ["*", ...Object.keys(catalog)];
/** The service refuses a name that it does not know. */
const eventsOf = (text: string) => listOf(text) as ("*" | keyof typeof catalog)[];

function NewWebhook() {
  const { values, field } = useForm({ url: "", events: "*", secret: "" });
  const run = async () => {
    const { url, events, secret } = values;
    const made = await api.webhooks.create({ url: url.trim(), events: eventsOf(events), ...(secret && { secret }) });
    go(`/webhooks/${made.id}`);
  };
  return (
    <FormDialog label="New webhook" kind="main" submit="Create" reason={refusal("webhooks:write")} run={run}>
      <Field label="URL" type="url" {...field("url")} hint="https://…" required />
      <EventsField {...field("events")} />
      <Field
        label="Secret"
        type="password"
        {...field("secret")}
        hint="It signs every delivery. Nobody reads it again."
      />
    </FormDialog>
  );
}

export const EventsField = (field: { readonly value: string; readonly onInput: (value: string) => void }) => (
  <Field label="Events" {...field} hint="Names with commas between them, or * for all" list={eventNames} required />
);

export function WebhooksPage() {
  const { data, error } = useRead(
    "webhooks",
    (signal) => api.webhooks.list({}, { signal }),
    ({ kind }) => kind === "delivery" || kind === "record",
  );
  return (
    <Page title="Webhooks" actions={<NewWebhook />}>
      {!data && <Loading error={error} />}
      {data?.data.length === 0 && (
        <Empty>No webhook yet. A webhook gets the events of this organization as they happen.</Empty>
      )}
      {data && data.data.length > 0 && (
        <Table head={["State", "URL", "Events", "Created"]}>
          {data.data.map((one) => (
            <tr key={one.id}>
              <td>
                <Status of={one.status} />
              </td>
              <td>
                <a href={href(`/webhooks/${one.id}`)}>
                  <Text of={one.url} />
                </a>
              </td>
              <td>{one.events.join(", ")}</td>
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

export function WebhookPage({ id }: { readonly id: string }) {
  const { data: webhook, error } = useRead(
    `webhook ${id}`,
    (signal) => api.webhooks.get({ id }, { signal }),
    (hint) => hint.id === id || hint.kind === "delivery",
  );
  if (!webhook) {
    return (
      <Page title="Webhook">
        <Loading error={error} />
      </Page>
    );
  }
  return (
    <Page title={webhook.url} actions={<Actions of={webhook} />}>
      <p class="facts">
        <Status of={webhook.status} />
        <span class="mono">{webhook.id}</span>
        <span>{webhook.events.join(", ")}</span>
      </p>
      <DeliveriesPart family="webhooks" id={id} />
    </Page>
  );
}

function Actions({ of }: { readonly of: Webhook }) {
  const { id } = of;
  const reason = refusal("webhooks:write");
  const isOff = of.status === "inactive";
  const stored = { url: of.url, events: of.events.join(", ") };
  const { values, field, reset } = useForm(stored);
  const secret = useForm({ secret: "" });
  return (
    <>
      <Action reason={reason} run={() => api.webhooks.update({ id, status: isOff ? "active" : "inactive" })}>
        {isOff ? "Turn on" : "Turn off"}
      </Action>
      <Action reason={reason} run={() => api.webhooks.test({ id })}>
        Send a test
      </Action>
      <FormDialog
        label="Edit"
        submit="Save"
        reason={reason}
        onOpen={() => reset(stored)}
        run={() => api.webhooks.update({ id, url: values.url.trim(), events: eventsOf(values.events) })}
      >
        <Field label="URL" type="url" {...field("url")} required />
        <EventsField {...field("events")} />
      </FormDialog>
      <FormDialog
        label="New secret"
        submit="Save"
        reason={reason}
        run={async () => {
          await api.webhooks.update({ id, secret: secret.values.secret || null });
          secret.reset();
        }}
      >
        <p>It signs every attempt from now on, retries too. Give it to the receiver first.</p>
        <Field
          label="Secret"
          type="password"
          {...secret.field("secret")}
          hint="Empty removes the stored one: deliveries are not signed then."
        />
      </FormDialog>
      <FormDialog
        label="Delete"
        kind="danger"
        reason={reason}
        run={async () => {
          await api.webhooks.delete({ id });
          go("/webhooks");
        }}
      >
        <p>The webhook goes with its deliveries, and pending ones are not sent.</p>
      </FormDialog>
    </>
  );
}
