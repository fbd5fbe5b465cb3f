import { api, session } from "../api.ts";
import { control } from "../control.ts";
import { Button, Field } from "../controls.tsx";
import { Form } from "../forms/form.tsx";
import { Copy } from "../parts.tsx";
import { refusal } from "../permissions.ts";
import { go } from "../router.ts";
import { EventsField, eventsOf, HeadersField, headersOf } from "./endpoint.tsx";

/** A new secret in the form of Standard Webhooks. */
const newSecret = () => `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(24))))}`;

const loopback = /^https?:\/\/(localhost|127\.0\.0\.1|\[::1\])[:/]/;

/** The inbox that stands for a URL on this machine, in `dev`: such URLs are refused, and an inbox forwards to them. */
function inboxFor(url: string) {
  if (session.value?.mode !== "dev" || !loopback.test(url) || !URL.canParse(url)) return undefined;
  const { port, pathname } = new URL(url);
  const words = `localhost ${port} ${pathname}`.toLowerCase().split(/[^a-z0-9]+/);
  const name = words.filter(Boolean).join("-").slice(0, 60).replace(/-$/, "");
  return { name, url: `https://${name}.inbox.test${pathname}` };
}

export const NewWebhook = () => (
  <Form
    label="New webhook"
    kind="main"
    submit="Create"
    reason={refusal("webhooks:write")}
    start={{ url: "", events: "*", secret: newSecret(), headers: "", inbox: "", forward: "" }}
    run={async ({ url, events, secret, headers, inbox, forward }) => {
      // Another URL was typed since.
      if (forward && url.startsWith(`https://${inbox}.`)) await control.configureInbox(inbox, { forward });
      const made = await api.webhooks.create({
        url: url.trim(),
        events: eventsOf(events),
        ...(secret && { secret }),
        ...(headers.trim() && { headers: headersOf(headers) }),
      });
      go(`/webhooks/${made.id}`);
    }}
  >
    {({ url, secret, forward }, set) => {
      const local = inboxFor(url.trim());
      return (
        <>
          <Field label="URL" type="url" hint={forward ? `The inbox forwards to ${forward}.` : "https://…"} required />
          {local && (
            <p class="row">
              <span class="hint">
                A program on this machine is reached through an inbox: {local.name}.inbox.test forwards to it.
              </span>
              <Button onClick={() => set({ url: local.url, inbox: local.name, forward: url.trim() })}>
                Use this inbox
              </Button>
            </p>
          )}
          <EventsField />
          <Field
            label="Secret"
            hint="It signs every delivery. Copy it now: nobody can read it again. Without it, deliveries are not signed."
          />
          {secret && <Copy text={secret}>Copy the secret</Copy>}
          <HeadersField />
        </>
      );
    }}
  </Form>
);
