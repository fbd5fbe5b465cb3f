import { useState } from "preact/hooks";
import type { Delivery } from "../../client/records.ts";
import { catalog } from "../../events/catalog.ts";
import { api } from "./api.ts";
import { Action, Field, FormDialog } from "./controls.tsx";
import { useRead } from "./live.ts";
import { refusal } from "./may.ts";
import { go, href } from "./router.ts";
import { instantOf } from "./time.ts";
import { Empty, Loading, Page, Section, Status, Text, Time } from "./ui.tsx";

function NewWebhook() {
  const [url, setUrl] = useState("");
  const [events, setEvents] = useState("*");
  const [secret, setSecret] = useState("");
  const run = async () => {
    const names = events.split(/[\s,]+/).filter(Boolean) as ("*" | keyof typeof catalog)[];
    const made = await api.webhooks.create({ url: url.trim(), events: names, ...(secret && { secret }) });
    go(`/webhooks/${made.id}`);
  };
  return (
    <FormDialog label="New webhook" kind="main" submit="Create" reason={refusal("webhooks:write")} run={run}>
      <Field label="URL" type="url" value={url} onInput={setUrl} hint="https://…" required />
      <Field
        label="Events"
        value={events}
        onInput={setEvents}
        hint="Names with commas between them, or * for all"
        list={["*", ...Object.keys(catalog)]}
        required
      />
      <Field
        label="Secret"
        type="password"
        value={secret}
        onInput={setSecret}
        hint="It signs every delivery. Nobody reads it again."
      />
    </FormDialog>
  );
}

export function WebhooksPage() {
  const { data, error } = useRead(
    "webhooks",
    (signal) => api.webhooks.list({}, { signal }),
    ({ kind }) => kind === "delivery" || kind === "event",
  );
  return (
    <Page title="Webhooks" actions={<NewWebhook />}>
      {!data && <Loading error={error} />}
      {data?.data.length === 0 && (
        <Empty>No webhook yet. A webhook gets the events of this organization as they happen.</Empty>
      )}
      {data && data.data.length > 0 && (
        <div class="table-place">
          <table class="rows">
            <thead>
              <tr>
                <th scope="col">State</th>
                <th scope="col">URL</th>
                <th scope="col">Events</th>
                <th scope="col">Created</th>
              </tr>
            </thead>
            <tbody>
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
            </tbody>
          </table>
        </div>
      )}
    </Page>
  );
}

export function WebhookPage({ id }: { readonly id: string }) {
  const { data, error } = useRead(
    `webhook ${id}`,
    async (signal) => {
      const [webhook, deliveries] = await Promise.all([
        api.webhooks.get({ id }, { signal }),
        api.webhooks.deliveries({ id, per_page: 50 }, { signal }),
      ]);
      return { webhook, deliveries: deliveries.data };
    },
    ({ kind }) => kind === "delivery" || kind === "event",
  );
  if (!data) {
    return (
      <Page title="Webhook">
        <Loading error={error} />
      </Page>
    );
  }
  const { webhook, deliveries } = data;
  const reason = refusal("webhooks:write");
  const isOff = webhook.status === "inactive";
  const actions = (
    <>
      <Action reason={reason} run={() => api.webhooks.update({ id, status: isOff ? "active" : "inactive" })}>
        {isOff ? "Turn on" : "Turn off"}
      </Action>
      <Action reason={reason} run={() => api.webhooks.test({ id })}>
        Send a test
      </Action>
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
  return (
    <Page title={webhook.url} actions={actions}>
      <p class="facts">
        <Status of={webhook.status} />
        <span class="mono">{webhook.id}</span>
        <span>{webhook.events.join(", ")}</span>
      </p>
      <Section title="Deliveries">
        {deliveries.length === 0 && <Empty>No delivery yet. Send a test, or deploy something.</Empty>}
        {deliveries.map((one) => (
          <DeliveryPart key={one.id} webhook_id={id} of={one} />
        ))}
      </Section>
    </Page>
  );
}

function DeliveryPart({ webhook_id, of }: { readonly webhook_id: string; readonly of: Delivery }) {
  return (
    <details class="delivery">
      <summary>
        <Status of={of.status} />
        <span class="mono">{of.event}</span>
        <Time at={of.created_at} />
        <span class="hint">
          {of.attempts.length} {of.attempts.length === 1 ? "attempt" : "attempts"}
          {of.next_attempt_at !== null && `, next at ${instantOf(of.next_attempt_at)} UTC`}
        </span>
      </summary>
      <ol class="attempts">
        {of.attempts.map((one) => (
          <li key={one.number}>
            <span class="mono">{instantOf(one.at)}</span> {one.status ?? one.error} in {one.duration_ms} ms
            {one.response && <pre>{one.response}</pre>}
          </li>
        ))}
      </ol>
      <Action reason={refusal("webhooks:write")} run={() => api.webhooks.redeliver({ id: webhook_id, dlv: of.id })}>
        Send again
      </Action>
    </details>
  );
}
