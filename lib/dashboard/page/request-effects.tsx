import type { EventRecord } from "../../client/generated/records.ts";
import { api } from "./api.ts";
import { Action } from "./controls.tsx";
import { useRead } from "./live.ts";
import { Records } from "./parts.tsx";
import { refusal } from "./permissions.ts";
import { type Family, hostOf, readReceivers, wordOf } from "./receiver-health.tsx";
import { href } from "./router.ts";
import { shortVersion } from "./sources.ts";
import { Loading, Section, Status, Text, Time } from "./ui.tsx";

/** JSON as a value; any other text as it is. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

type Data = Readonly<Record<string, unknown>>;

const subjects = ["deployment_id", "generation_id", "invitation_id", "user_id", "project_id"] as const;
/** The record that an event is about. */
export const subjectOf = (data: Data): string | undefined => {
  const found = subjects.find((name) => typeof data[name] === "string");
  return found && String(data[found]);
};

/** What an event tells of, in a few words. */
export function aboutOf(data: Data, nameOf: (id: string) => string | undefined): string {
  const { name, email, project_id, environment, generation_id, model, version } = data;
  const named = (id: unknown) => (typeof id === "string" ? nameOf(id) : undefined);
  const release = typeof version === "string" && shortVersion(version);
  return [email, name ?? named(project_id) ?? project_id, environment, named(generation_id), model, release]
    .filter((word) => typeof word === "string")
    .join(", ")
    .slice(0, 300);
}

/** The data of the event in a body of a delivery; undefined for other forms, such as those of a chat. */
export function dataIn(body: string): Data | undefined {
  const value = parsed(body);
  const data = typeof value === "object" && value !== null && "data" in value ? value.data : undefined;
  return typeof data === "object" && data !== null ? (data as Data) : undefined;
}

/** The record that a body of a delivery is about. */
export function subjectIn(body: string): string | undefined {
  const data = dataIn(body);
  return data && subjectOf(data);
}

interface Sent {
  readonly id: string;
  readonly status: string;
  readonly page: string;
  readonly to: string;
  readonly event: string;
  readonly family: Family;
  readonly endpoint: string;
  /** The last answer; empty before the first. */
  readonly answer: string;
  readonly tries: number;
}

/** At most so many receivers are asked for their deliveries, and so many deliveries for their bodies. */
const mostReceivers = 10;
const mostDeliveries = 30;

/**
 * The deliveries of the events of a record, as far as the latest deliveries of the receivers show them. A body that
 * does not name the record, such as a chat's, belongs to it unless another event had the same name and time.
 */
async function deliveriesOf(
  target: string | undefined,
  all: readonly EventRecord[],
  events: readonly EventRecord[],
  signal: AbortSignal,
) {
  const receivers = await readReceivers(signal);
  const lists = await Promise.all(
    receivers.slice(0, mostReceivers).map(async ({ family, id, name }) => {
      const to = hostOf(name);
      const { data } = await api[family].deliveries({ id, per_page: 100 }, { signal });
      return data.map(({ id: dlv, event, status, created_at: at, attempts }) => {
        const last = attempts.at(-1);
        const sent = { tries: last?.number ?? 0, answer: last ? wordOf(last) : "" };
        return { family, endpoint: id, to, dlv, event, status, at, ...sent };
      });
    }),
  );
  const isOf = (one: { event: string; at: string }) => (of: EventRecord) =>
    of.event === one.event && of.timestamp === one.at;
  const found = lists.flat().filter((one) => events.some(isOf(one)));
  const sent = await Promise.all(
    found.slice(0, mostDeliveries).map(async (one): Promise<Sent[]> => {
      const { request } = await api[one.family].delivery({ id: one.endpoint, dlv: one.dlv }, { signal });
      const subject = subjectIn(request.body);
      const isIts = subject === undefined ? all.filter(isOf(one)).length === 1 : subject === target;
      return isIts ? [{ ...one, id: one.dlv, page: `/${one.family}/${one.endpoint}/${one.dlv}` }] : [];
    }),
  );
  return sent.flat();
}

/** Who received an event, and what they answered. */
export function Received({ of, all }: { of: EventRecord; all: readonly EventRecord[] }) {
  const { data, error } = useRead(
    `received ${of.id}`,
    (signal) => deliveriesOf(subjectOf(of.data), all, [of], signal),
    ({ kind }) => kind === "delivery" || kind === "event",
  );
  return (
    <Records
      of={data}
      error={error}
      empty="No receiver got it, as far as their latest hundred deliveries show."
      columns={{
        Receiver: ({ to, page }) => (
          <a class="lead" href={href(page)}>
            <Text of={to} class="strong" />
          </a>
        ),
        State: ({ status }) => <Status of={status} />,
        "Last answer": ({ answer }) => answer && <Text of={answer} />,
        Attempts: ({ tries }) => tries,
        "": ({ family, endpoint, id }) => (
          <Action
            kind="quiet"
            reason={refusal(`${family}:write`)}
            run={() => api[family].redeliver({ id: endpoint, dlv: id })}
          >
            Send again
          </Action>
        ),
      }}
    />
  );
}

/** What a request led to: the events of its record since then, and their deliveries. */
export function Caused({ target, at }: { target: string; at: string }) {
  const { data, error } = useRead(
    `caused ${target} ${at}`,
    async (signal) => {
      const { data: all } = await api.events.list({ per_page: 100 }, { signal });
      const events = all.filter(({ data, timestamp }) => subjectOf(data) === target && timestamp >= at).reverse();
      return { events, deliveries: events.length === 0 ? [] : await deliveriesOf(target, all, events, signal) };
    },
    ({ kind }) => kind === "event" || kind === "delivery",
  );
  if (!data) return <Loading error={error} />;
  return (
    <Section title="What it caused">
      <Records
        of={data.events}
        empty="No event."
        columns={{
          Event: ({ event }) => <span class="mono">{event}</span>,
          Time: ({ timestamp }) => <Time at={timestamp} />,
          Deliveries: ({ event }) =>
            data.deliveries
              .filter((one) => one.event === event)
              .map((one) => (
                <a key={one.id} class="row tight" href={href(one.page)}>
                  <Status of={one.status} />
                  <Text of={one.to} />
                </a>
              )),
        }}
      />
    </Section>
  );
}
