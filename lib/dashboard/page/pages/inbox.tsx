import { useState } from "preact/hooks";
import { type Caught, control, type InboxSettings } from "../control.ts";
import { Action, Field, FormDialog, Select } from "../controls.tsx";
import { Form } from "../forms/form.tsx";
import { type Change, useRead } from "../live.ts";
import { useOpen } from "../parts.tsx";
import { place, setQuery } from "../router.ts";
import { Empty, loadingPage, Page, Text, Time } from "../ui.tsx";
import { Halves } from "./halves.tsx";
import { answersOf, forms, isGood, presets, textOf, wordOf } from "./inbox-answers.ts";
import { Delivery } from "./inbox-delivery.tsx";

const concerns = ({ kind }: Change) => kind === "journal" || kind === "instruments";

/** A delivery is identified by its headers, or by its time if it has none of them. */
const nameOf = ({ headers, received_at, endpoint }: Caught): string =>
  headers["x-service-delivery"] === undefined
    ? `${endpoint} ${received_at}`
    : `${headers["x-service-delivery"]}.${headers["x-service-attempt"]}`;

/** The service keeps so many deliveries; the page lists the newest of them. */
const mostKept = 1000;
const mostListed = 200;

const contains = ({ url, headers, body, response }: Caught, wanted: string): boolean =>
  [wordOf(response), url, ...Object.values(headers), body].some((text) => text.toLowerCase().includes(wanted));

export function InboxPage() {
  const { data, error } = useRead(
    "inbox",
    async () => ({ caught: await control.inbox(), settings: await control.inboxes() }),
    concerns,
  );
  const name = place.value.query.get("name") ?? "";
  const { caught = [], settings = [] } = data ?? {};
  const names = [...new Set([...caught, ...settings].map(({ endpoint }) => endpoint))].sort();
  const [search, setSearch] = useState("");
  const wanted = search.trim().toLowerCase();
  const shown = caught
    .filter((one) => (name === "" || one.endpoint === name) && (wanted === "" || contains(one, wanted)))
    .reverse();
  const open = useOpen(shown, nameOf, "delivery");
  if (!data) return loadingPage("Inbox", error);
  return (
    <Page
      title="Inbox"
      actions={
        <>
          <Configure name={name} names={names} />
          <FormDialog
            label="Clear"
            title="Clear the inbox?"
            kind="danger"
            reason={caught.length === 0 ? "There is no delivery." : undefined}
            run={control.clearInbox}
          >
            <p>All deliveries in all inboxes are deleted. Their attempts stay with their webhooks.</p>
          </FormDialog>
        </>
      }
    >
      <p class="hint">
        Deliveries to <code>https://NAME.inbox.test/…</code> stay here instead of being sent, and so do those to public
        addresses.
      </p>
      {names.length > 0 && (
        <search class="filters">
          <ul class="chips" aria-label="Inboxes">
            {["", ...names].map((one) => (
              <li key={one}>
                <button type="button" class="chip" aria-pressed={one === name} onClick={() => setQuery({ name: one })}>
                  {one === "" ? "All" : one} {caught.filter(({ endpoint }) => one === "" || endpoint === one).length}
                </button>
              </li>
            ))}
          </ul>
          {caught.length > 0 && (
            <Field
              label="Search"
              type="search"
              value={search}
              onInput={setSearch}
              placeholder="event, answer or body"
            />
          )}
          {caught.length >= mostKept && (
            <span class="hint">Only the newest {mostKept.toLocaleString("en")} are kept.</span>
          )}
        </search>
      )}
      {settings
        .filter(({ endpoint }) => name === "" || endpoint === name)
        .map((one) => (
          <Setting key={one.endpoint} of={one} />
        ))}
      {shown.length === 0 && caught.length > 0 ? (
        <Empty>No delivery contains this.</Empty>
      ) : shown.length === 0 ? (
        <Empty>
          No delivery yet. Create a webhook with the URL <code>https://shop.inbox.test/hooks</code>, then deploy
          something.
        </Empty>
      ) : (
        <Halves
          of={shown.slice(0, mostListed)}
          open={open}
          nameOf={nameOf}
          parameter="delivery"
          label="Deliveries"
          more={shown.length > mostListed && `and ${shown.length - mostListed} older. Search for them.`}
          entry={(one) => (
            <>
              <span class={`mono answer ${isGood(one.response) ? "good" : "bad"}`}>{wordOf(one.response)}</span>
              <span class="mono">{one.headers["x-service-event"] ?? one.method}</span>
              <Time at={one.received_at} />
              <span class="hint">
                <Text of={one.endpoint} /> {attemptOf(one)}
              </span>
            </>
          )}
        >
          {open && <Delivery key={nameOf(open)} of={open} />}
        </Halves>
      )}
    </Page>
  );
}

const attemptOf = ({ headers }: Caught) =>
  Number(headers["x-service-attempt"] ?? 1) === 1 ? "" : `attempt ${headers["x-service-attempt"]}`;

/** What an inbox responds with next, and a button to stop that. */
const Setting = ({ of: { endpoint, responses, forward, has_sink } }: { of: InboxSettings }) => (
  <p class="row">
    <Text of={endpoint} class="strong" />
    {forward !== null ? (
      <>
        <span>
          forwards to <span class="mono">{forward}</span>
        </span>
        <Action run={() => control.configureInbox(endpoint, { forward: null })}>Stop forwarding</Action>
      </>
    ) : has_sink ? (
      <span>is answered by a function</span>
    ) : (
      <>
        <span>
          answers next: <span class="mono">{textOf(responses)}</span>, then 200
        </span>
        <Action run={() => control.configureInbox(endpoint, { responses: [] })}>Forget these answers</Action>
      </>
    )}
  </p>
);

const Configure = ({ name, names }: { name: string; names: readonly string[] }) => (
  <Form
    label="Set answers"
    submit="Save"
    start={{ inbox: name, name: "", responses: "", forward: "" }}
    run={async ({ inbox, name: typed, responses, forward }) => {
      const name = inbox || typed;
      if (responses.trim() !== "") await control.configureInbox(name, { responses: answersOf(responses) });
      if (forward.trim() !== "") await control.configureInbox(name, { forward: forward.trim() });
    }}
  >
    {({ inbox, responses }, set) => (
      <>
        {names.length > 0 && (
          <Select label="Inbox" options={[["", "another one"], ...names.map((one) => [one, one] as const)]} />
        )}
        {inbox === "" && <Field label="Name" required hint="The NAME of https://NAME.inbox.test/…" />}
        <Select
          label="Answer with"
          options={presets}
          value={presets.some(([text]) => text === responses) ? responses : ""}
          onChange={(text) => set({ responses: text })}
        />
        <Field label="Next answers" name="responses" hint={forms} />
        <Field
          label="Forward to"
          name="forward"
          hint="A receiver on this machine, such as http://localhost:3000/hooks. Its answers count."
        />
      </>
    )}
  </Form>
);
