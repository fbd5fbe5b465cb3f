import { useRef, useState } from "preact/hooks";
import type { Delivery, DeliveryDetail } from "../../../client/generated/records.ts";
import { api } from "../api.ts";
import { Action, Select } from "../controls.tsx";
import { instantOf, lengthOf } from "../format-time.ts";
import { curlOfDelivery } from "../forms/call-forms.ts";
import { Form } from "../forms/form.tsx";
import { serviceNow, speed, useCall, useRead } from "../live.ts";
import { Block, Copy, indented, Records, Ref } from "../parts.tsx";
import { refusal } from "../permissions.ts";
import { type Family, hostOf, isGood, wordOf } from "../receiver-health.tsx";
import { requestsOf } from "../recent-requests.ts";
import { aboutOf, dataIn, subjectIn } from "../request-effects.tsx";
import { href, place } from "../router.ts";
import { useProjects } from "../tables.tsx";
import { Empty, loadingPage, Page, Section, Status, Text, Time } from "../ui.tsx";
import { Pages } from "./projects.tsx";

interface OfEndpoint {
  readonly family: Family;
  readonly id: string;
}

const answerOf = ({ attempts }: Delivery) => {
  const last = attempts.at(-1);
  return last ? wordOf(last) : "";
};

/** The events that deliveries tell of. An event never changes, so each is read once. */
function useEvents({ family, id }: OfEndpoint, deliveries: readonly string[]) {
  const known = useRef(new Map<string, ReturnType<typeof dataIn>>()).current;
  useRead(
    `told ${id} ${deliveries.join()}`,
    async (signal) => {
      const read = async (dlv: string) => {
        const { request } = await api[family].delivery({ id, dlv }, { signal });
        known.set(dlv, dataIn(request.body));
      };
      await Promise.all(deliveries.filter((dlv) => !known.has(dlv)).map(read));
    },
    () => false,
  );
  return known;
}

/** When the next attempt comes: at the latest with the next move of a clock that stands. */
const dueOf = (at: string) =>
  Date.parse(at) > serviceNow() || speed.value > 0
    ? `${instantOf(at)} UTC`
    : "Due now. The clock stands: it is sent as soon as the clock moves.";

/** The deliveries of an endpoint, newest first. */
export function DeliveriesPart({ family, id }: OfEndpoint) {
  const cursor = place.value.query.get("cursor") ?? "";
  const { data, error } = useCall(
    `${family}.deliveries`,
    { id, per_page: 25, ...(cursor && { cursor }) },
    `${id} event delivery`,
  );
  const events = useEvents({ family, id }, data?.data.map(({ id }) => id) ?? []);
  const projects = useProjects();
  return (
    <Section title="Deliveries" actions={<Recover family={family} id={id} />}>
      <Records
        of={data?.data}
        error={error}
        empty="No delivery yet. Send a test, or deploy something."
        columns={{
          State: ({ status }) => <Status of={status} />,
          Event: ({ id: dlv, event }) => (
            <a class="mono lead" href={href(`/${family}/${id}/${dlv}`)}>
              {event}
            </a>
          ),
          About: (one) => <Text of={aboutOf(events.get(one.id) ?? {}, (id) => projects.get(id)?.name)} />,
          "Last answer": (one) => answerOf(one) && <Text of={answerOf(one)} />,
          Attempts: ({ attempts }) => attempts.length,
          Created: ({ created_at }) => <Time at={created_at} />,
          "Next attempt": ({ next_attempt_at }) => next_attempt_at !== null && dueOf(next_attempt_at),
        }}
      />
      <Pages next={data?.meta.next_cursor ?? null} />
    </Section>
  );
}

const periods: readonly (readonly [string, string])[] = [
  ["3600000", "The last hour"],
  ["86400000", "The last day"],
  ["604800000", "The last 7 days"],
  ["2592000000", "The last 30 days"],
];

/** Resends all deliveries that did not arrive. */
const Recover = ({ family, id }: OfEndpoint) => (
  <Form
    label="Recover"
    submit="Send them again"
    reason={refusal(`${family}:write`)}
    start={{ since: "86400000" }}
    run={({ since }) => api[family].recover({ id, since: new Date(serviceNow() - Number(since)).toISOString() })}
  >
    <p>Every failed, abandoned or skipped delivery is sent again, with a new series of retries.</p>
    <Select label="Since" options={periods} />
  </Form>
);

export function DeliveryPage({ family, id, dlv }: OfEndpoint & { dlv: string }) {
  const [asked, setAsked] = useState<number>();
  const { data, error } = useCall(`${family}.delivery`, { id, dlv }, `${id} ${dlv} delivery`);
  if (!data) return loadingPage("Delivery", error);
  const actions = (
    <>
      <Copy text={curlOfDelivery(data.request)}>Copy as curl</Copy>
      <Action
        kind="main"
        reason={refusal(`${family}:write`)}
        run={async () => {
          await api[family].redeliver({ id, dlv });
          setAsked(data.attempts.length);
        }}
      >
        Send again
      </Action>
    </>
  );
  return (
    <Page title={data.event} actions={actions}>
      <p class="facts">
        <Status of={data.status} />
        <Ref of={data.id} />
        <span>
          <a href={href(`/${family}/${id}`)}>{family === "webhooks" ? "Webhook" : "Integration"}</a>{" "}
          <Text of={hostOf(data.request.url)} />
        </span>
        <Cause of={data.request.body} />
        <span>{instantOf(data.created_at)} UTC</span>
      </p>
      <Attempts of={data} isAsked={asked === data.attempts.length} />
      <Section title="Request">
        <p class="hint">
          {"x-service-signature" in data.request.headers
            ? "As it would be sent now: time and signature are those of this moment, with the current secret."
            : "As it would be sent now. It is not signed: its receiver has no secret."}
        </p>
        <p class="mono">
          POST <Text of={data.request.url} />
        </p>
        <Block
          label="Headers"
          of={Object.entries(data.request.headers)
            .map(([name, value]) => `${name}: ${value}`)
            .join("\n")}
        />
        <Block label="Body" of={indented(data.request.body)} />
      </Section>
    </Page>
  );
}

/** The record that a delivery tells of, and the requests about it. */
function Cause({ of }: { of: string }) {
  const id = subjectIn(of);
  if (id === undefined) return null;
  return (
    <>
      <span>
        about <Ref of={id} />
      </span>
      <a href={href(requestsOf(id))}>Requests about it</a>
    </>
  );
}

/** Every attempt with its response, and the time of the next one. */
function Attempts({ of, isAsked }: { of: DeliveryDetail; isAsked: boolean }) {
  const due = of.next_attempt_at ?? (isAsked && speed.value === 0 ? new Date(serviceNow()).toISOString() : null);
  return (
    <Section title="Attempts">
      {of.attempts.length === 0 && due === null && <Empty>It has not been sent.</Empty>}
      <ol class="attempt-list">
        {of.attempts.map((one, i) => {
          const before = of.attempts[i - 1]?.at;
          return (
            <li key={one.number}>
              <div class="row">
                <strong>{one.number}</strong>
                <Status of={isGood(one) ? "succeeded" : "failed"} />
                <Text of={wordOf(one)} />
                <span class="hint">
                  {instantOf(one.at)} UTC{before && `, ${lengthOf(Date.parse(one.at) - Date.parse(before))} later`},
                  took {lengthOf(one.duration_ms)}
                  {one.status !== null && !one.response && ", no body"}
                </span>
              </div>
              {one.response && <Block label={`Answer ${one.number}`} of={one.response} />}
            </li>
          );
        })}
        {due !== null && (
          <li class="coming">
            <div class="row">
              <strong>{of.attempts.length + 1}</strong>
              <Status of="pending" />
              <span class="hint">{dueOf(due)}</span>
            </div>
          </li>
        )}
      </ol>
    </Section>
  );
}
