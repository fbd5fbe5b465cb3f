import type { Webhook } from "../../../client/generated/records.ts";
import { api } from "../api.ts";
import { Field, Select } from "../controls.tsx";
import { Form } from "../forms/form.tsx";
import { useCall } from "../live.ts";
import { Ref } from "../parts.tsx";
import { refusal } from "../permissions.ts";
import { TurnedOff } from "../receiver-health.tsx";
import { loadingPage, Page, Status } from "../ui.tsx";
import { DeliveriesPart } from "./deliveries.tsx";
import {
  EndpointActions,
  EndpointsPage,
  EventsField,
  eventsOf,
  eventsText,
  HeadersField,
  headersOf,
  headersText,
} from "./endpoint.tsx";
import { NewWebhook } from "./new-webhook.tsx";

const overlaps: readonly (readonly [string, string])[] = [
  ["", "stops immediately"],
  ["1h", "also signs for an hour"],
  ["24h", "also signs for a day"],
  ["7d", "also signs for a week"],
];

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
  return (
    <EndpointActions family="webhooks" of={of}>
      <Form
        label="Edit"
        submit="Save"
        reason={reason}
        start={{ url: of.url, events: of.events.join(", "), headers: headersText(of.headers) }}
        run={({ url, events, headers }) =>
          api.webhooks.update({ id, url: url.trim(), events: eventsOf(events), headers: headersOf(headers) })
        }
      >
        <Field label="URL" type="url" required />
        <EventsField />
        <HeadersField />
      </Form>
      <Form
        label="New secret"
        submit="Save"
        reason={reason}
        start={{ secret: "", overlap: "" }}
        run={({ secret, overlap }) =>
          api.webhooks.update({
            id,
            secret: secret || null,
            ...(secret && overlap && { keep_previous_for: overlap }),
          })
        }
      >
        <p>
          It signs every attempt from now on, including retries. While the old one also signs, you can update the
          receiver.
        </p>
        <Field
          label="Secret"
          type="password"
          hint="Leave empty to remove the stored one: deliveries are then not signed."
        />
        <Select label="The old secret" name="overlap" options={overlaps} />
      </Form>
    </EndpointActions>
  );
}
