import type { Webhook } from "../../../client/generated/records.ts";
import type { catalog } from "../../../features/events/catalog.ts";
import { api } from "../api.ts";
import { Field, FormDialog, Select } from "../controls.tsx";
import { listOf, useForm } from "../forms/form.tsx";
import { useCall } from "../live.ts";
import { Ref } from "../parts.tsx";
import { refusal } from "../permissions.ts";
import { TurnedOff } from "../receiver-health.tsx";
import { go } from "../router.ts";
import { loadingPage, Page, Status } from "../ui.tsx";
import { DeliveriesPart } from "./deliveries.tsx";
import {
  EndpointActions,
  EndpointsPage,
  EventsField,
  eventsText,
  HeadersField,
  headersOf,
  headersText,
} from "./endpoint.tsx";

const overlaps: readonly (readonly [string, string])[] = [
  ["", "stops immediately"],
  ["1h", "also signs for an hour"],
  ["24h", "also signs for a day"],
  ["7d", "also signs for a week"],
];

/** No check here: the service refuses unknown names. */
const eventsOf = (text: string) => listOf(text) as ("*" | keyof typeof catalog)[];

function NewWebhook() {
  const { values, field } = useForm({ url: "", events: "*", secret: "", headers: "" });
  const run = async () => {
    const { url, events, secret } = values;
    const made = await api.webhooks.create({
      url: url.trim(),
      events: eventsOf(events),
      ...(secret && { secret }),
      ...(values.headers.trim() && { headers: headersOf(values.headers) }),
    });
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
        hint="It signs every delivery. Nobody can read it again."
      />
      <HeadersField {...field("headers")} />
    </FormDialog>
  );
}

export const WebhooksPage = () => (
  <EndpointsPage
    family="webhooks"
    title="Webhooks"
    create={<NewWebhook />}
    empty="No webhook yet. A webhook gets the events of this organization as they happen."
    head={["URL", "Events"]}
    name={({ url }) => url}
    about={({ events }) => eventsText(events)}
  />
);

export function WebhookPage({ id }: { id: string }) {
  const { data: webhook, error } = useCall("webhooks.get", { id }, `${id} delivery`);
  if (!webhook) return loadingPage("Webhook", error);
  return (
    <Page title={webhook.url} actions={<Actions of={webhook} />}>
      <p class="facts">
        <Status of={webhook.status} />
        <Ref of={webhook.id} />
        <span>{eventsText(webhook.events)}</span>
      </p>
      <TurnedOff family="webhooks" of={webhook} />
      <DeliveriesPart family="webhooks" id={id} />
    </Page>
  );
}

function Actions({ of }: { of: Webhook }) {
  const { id } = of;
  const reason = refusal("webhooks:write");
  const stored = { url: of.url, events: of.events.join(", "), headers: headersText(of.headers) };
  const { values, field, reset } = useForm(stored);
  const secret = useForm({ secret: "", overlap: "" });
  return (
    <EndpointActions family="webhooks" of={of}>
      <FormDialog
        label="Edit"
        submit="Save"
        reason={reason}
        onOpen={() => reset(stored)}
        run={() =>
          api.webhooks.update({
            id,
            url: values.url.trim(),
            events: eventsOf(values.events),
            headers: headersOf(values.headers),
          })
        }
      >
        <Field label="URL" type="url" {...field("url")} required />
        <EventsField {...field("events")} />
        <HeadersField {...field("headers")} />
      </FormDialog>
      <FormDialog
        label="New secret"
        submit="Save"
        reason={reason}
        run={async () => {
          const { secret: made, overlap } = secret.values;
          await api.webhooks.update({
            id,
            secret: made || null,
            ...(made && overlap && { keep_previous_for: overlap }),
          });
          secret.reset();
        }}
      >
        <p>
          It signs every attempt from now on, including retries. While the old one also signs, you can update the
          receiver.
        </p>
        <Field
          label="Secret"
          type="password"
          {...secret.field("secret")}
          hint="Leave empty to remove the stored one: deliveries are then not signed."
        />
        <Select label="The old secret" {...secret.choice("overlap")} options={overlaps} />
      </FormDialog>
    </EndpointActions>
  );
}
