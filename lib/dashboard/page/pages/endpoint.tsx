import type { ComponentChildren } from "preact";
import type { Integration, Webhook } from "../../../client/generated/records.ts";
import { catalog } from "../../../features/events/catalog.ts";
import { api, session } from "../api.ts";
import { Action, Field, FormDialog } from "../controls.tsx";
import { Area, listOf } from "../forms/form.tsx";
import { Check, useValue } from "../labelled.tsx";
import { useCall } from "../live.ts";
import { Records } from "../parts.tsx";
import { refusal } from "../permissions.ts";
import { type Endpoint, type Family, isFailing, LastAnswer, Rate, useHealth } from "../receiver-health.tsx";
import { go, href } from "../router.ts";
import { Link, Page, Status, Time } from "../ui.tsx";

/** The events of an endpoint as text. */
export const eventsText = (events: readonly string[]) => (events.includes("*") ? "all events" : events.join(", "));

/** No check here: the service refuses unknown names. */
export const eventsOf = (text: string) => listOf(text) as ("*" | keyof typeof catalog)[];

/** Parses headers from lines of `Name: value`. */
export const headersOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    text
      .split("\n")
      .filter((line) => line.trim() !== "")
      .map((line): [string, string] => {
        const [name = "", ...value] = line.split(":");
        return [name.trim(), value.join(":").trim()];
      }),
  );
export const headersText = (headers: unknown): string =>
  Object.entries(headers ?? {})
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");

export const HeadersField = () => (
  <Area
    label="Headers"
    rows={3}
    hint="One Name: value per line, sent with every delivery. A value is never shown again: [redacted] keeps it."
  />
);

const eventNames = Object.keys(catalog);

/** The events of an endpoint: `*`, or names that are typed or ticked. */
export function EventsField() {
  const [text, set] = useValue({ label: "Events" }, undefined);
  const chosen = listOf(text);
  const isAll = chosen.includes("*");
  const tick = (name: string, isOn: boolean) =>
    set([...chosen.filter((one) => one !== name), ...(isOn ? [name] : [])].join(", "));
  return (
    <>
      <Field label="Events" list={["*", ...eventNames]} required />
      <fieldset class="checks">
        <legend class="unseen">Choose the events</legend>
        <Check label="all events" isOn={isAll} set={(isOn) => set(isOn ? "*" : "")} />
        {!isAll &&
          eventNames.map((name) => (
            <Check key={name} label={name} isOn={chosen.includes(name)} set={(isOn) => tick(name, isOn)} />
          ))}
      </fieldset>
    </>
  );
}

interface Receivers {
  readonly webhooks: Webhook;
  readonly integrations: Integration;
}

/** The page with all endpoints of a family. Besides state and age, its table has the two columns of `head`. */
export function EndpointsPage<F extends Family>({
  family,
  title,
  create,
  empty,
  head,
  name,
  about,
  sends = () => true,
}: {
  readonly family: F;
  readonly title: string;
  readonly create: ComponentChildren;
  readonly empty: string;
  readonly head: readonly [string, string];
  readonly name: (one: Receivers[F]) => string;
  readonly about: (one: Receivers[F]) => string;
  /** Whether an endpoint gets deliveries. */
  readonly sends?: (one: Receivers[F]) => boolean;
}) {
  const { data, error } = useCall(`${family as Family}.list`, {}, "delivery record");
  const all = data?.data as readonly Receivers[F][] | undefined;
  const health = useHealth(family, all?.filter(sends).map(({ id }) => id) ?? []);
  return (
    <Page title={title} actions={create}>
      {session.value?.mode === "dev" && (
        <p class="hint">
          In dev, what goes to public addresses is answered by the <a href={href("/inbox")}>inbox</a>.
        </p>
      )}
      <Records
        of={all}
        error={error}
        empty={empty}
        columns={{
          [head[0]]: (one) => <Link to={`/${family}/${one.id}`} of={name(one)} class="lead strong" />,
          State: ({ id, status }) => (
            <Status of={status} word={status === "active" && isFailing(health.get(id)) ? "failing" : status} />
          ),
          Accepted: (one) => sends(one) && <Rate of={health.get(one.id)} />,
          "Last answer": ({ id }) => <LastAnswer of={health.get(id)} />,
          [head[1]]: about,
          Created: ({ created_at }) => <Time at={created_at} />,
        }}
      />
    </Page>
  );
}

/** The buttons that turn an endpoint on or off, test it and delete it. The forms to edit it go between them. */
export function EndpointActions({
  family,
  of: { id, status },
  sendsNothing,
  children,
}: {
  readonly family: Family;
  readonly of: Endpoint;
  /** Why a test would send nothing. */
  readonly sendsNothing?: string | undefined;
  readonly children: ComponentChildren;
}) {
  const reason = refusal(`${family}:write`);
  const isOff = status === "inactive";
  return (
    <>
      <Action reason={reason} run={() => api[family].update({ id, status: isOff ? "active" : "inactive" })}>
        {isOff ? "Turn on" : "Turn off"}
      </Action>
      <Action reason={reason ?? sendsNothing} run={() => api[family].test({ id })}>
        Send a test
      </Action>
      {children}
      <FormDialog
        label="Delete"
        title={`Delete this ${family.slice(0, -1)}?`}
        kind="danger"
        reason={reason}
        run={async () => {
          await api[family].delete({ id });
          go(`/${family}`);
        }}
      >
        <p>The {family.slice(0, -1)} is deleted with its deliveries. Pending ones are not sent.</p>
      </FormDialog>
    </>
  );
}
