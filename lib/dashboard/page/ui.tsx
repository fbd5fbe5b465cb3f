import type { ComponentChildren } from "preact";
import { useEffect, useId, useState } from "preact/hooks";
import { ClientProblem } from "../../client/problem.ts";
import { api, orNone, session } from "./api.ts";
import { agoOf, instantOf } from "./format-time.ts";
import { Icon } from "./icon.tsx";
import { useRead } from "./live.ts";
import { useNames } from "./names.ts";
import { href, linkBack, place } from "./router.ts";
import { Problem } from "./work.tsx";

/** The mark of a state: shape and hue, with the name of the state next to it, or another word that says more. */
export const Status = ({ of, word = of }: { of: string; word?: string | undefined }) => (
  <span class={`status ${of} ${word === of ? "" : word}`}>
    <svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
      {shapeOf(word)}
    </svg>
    {word.replaceAll("_", " ")}
  </span>
);

function shapeOf(state: string) {
  switch (state) {
    case "active":
    case "live":
    case "succeeded":
    case "completed":
      return <path d="M2 6.5 5 9.5 10.5 2.5" fill="none" stroke="currentColor" stroke-width="2" />;
    case "failed":
    case "failing":
    case "abandoned":
      return <path d="M2.5 2.5 9.5 9.5M9.5 2.5 2.5 9.5" fill="none" stroke="currentColor" stroke-width="2" />;
    case "cancelled":
    case "inactive":
    case "archived":
    case "replaced":
    case "skipped":
      return <path d="M2 6H10" fill="none" stroke="currentColor" stroke-width="2" />;
    case "rolled_back":
      return (
        <path
          d="M9.5 9.5V6a2.5 2.5 0 0 0-2.5-2.5H3M5.5 1 3 3.5 5.5 6"
          fill="none"
          stroke="currentColor"
          stroke-width="1.6"
        />
      );
    case "queued":
    case "pending":
      return (
        <circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" stroke-width="1.6" stroke-dasharray="2.2 1.6" />
      );
    default:
      return (
        <>
          <circle cx="6" cy="6" r="4.2" fill="none" stroke="currentColor" stroke-width="1.6" />
          <path d="M6 1.8a4.2 4.2 0 0 1 0 8.4z" fill="currentColor" />
        </>
      );
  }
}

export const Time = ({ at }: { at: string }) => (
  <time dateTime={at} title={`${instantOf(at)} UTC`}>
    {agoOf(at)}
  </time>
);

/** Text from a user. Its direction does not affect the text around it. */
export const Text = ({ of, class: look = "" }: { of: string; class?: string }) => (
  <bdi class={`text ${look}`}>{of}</bdi>
);

/** A link to a page of the dashboard. */
export const Link = ({ to, of, class: look }: { to: string; of: string; class?: string }) => (
  <a href={href(to)} class={look}>
    <Text of={of} />
  </a>
);

const lists = ["projects", "deployments", "generations", "webhooks", "integrations", "requests"];

/** From the page of a record to the list of all; as it was left, if a person came from there. */
function Back() {
  const [, list = "", id, part] = place.value.path.split("/");
  if (!id || !lists.includes(list)) return null;
  return (
    <p class="back hint">
      <a {...linkBack(`/${list}`)}>
        <Icon of="back" />
        All {list}
      </a>
      {part && (
        <>
          {" / "}
          <a {...linkBack(`/${list}/${id}`)}>This {list.slice(0, -1)}</a>
        </>
      )}
    </p>
  );
}

/** Says that a restart forgets what a page shows. */
export const sinceStart = () =>
  `Kept in memory since ${instantOf(session.value?.started_at ?? "")} UTC, when the service started.`;
const inMemory = ["/inbox", "/snapshots", "/faults"];

export function Page({
  title,
  actions,
  children,
}: {
  title: string;
  actions?: ComponentChildren;
  children: ComponentChildren;
}) {
  useEffect(() => {
    document.title = `${title.slice(0, 100)} · svc-server`;
  }, [title]);
  return (
    <main>
      <header class="page-head">
        <Back />
        <h1 tabIndex={-1}>
          <Text of={title} />
        </h1>
        <div class="row">{actions}</div>
      </header>
      {inMemory.includes(place.value.path) && <p class="hint">{sinceStart()}</p>}
      {children}
    </main>
  );
}

export const Section = ({
  title,
  children,
  actions,
}: {
  title: string;
  children: ComponentChildren;
  actions?: ComponentChildren;
}) => {
  const id = useId();
  return (
    <section aria-labelledby={id}>
      <div class="section-head">
        <h2 id={id}>{title}</h2>
        {actions}
      </div>
      {children}
    </section>
  );
};

export const Empty = ({ children }: { children: ComponentChildren }) => <div class="empty">{children}</div>;

/** Who deleted the record of this page, as far as the audit log says and this person may read it. */
function Deleted() {
  const [, list = "", id] = place.value.path.split("/");
  const action = `${list}.delete`;
  const names = useNames();
  const { data } = useRead(
    `deleted ${id}`,
    (signal) => orNone(api["audit-log"].list({ action, per_page: 100 }, { signal })),
    () => false,
  );
  const entry = data?.data.find(({ target }) => target === id);
  if (!entry) return null;
  return (
    <p>
      <Text of={names.person(entry.user_id) || "Somebody"} /> deleted it <Time at={entry.at} />:{" "}
      <a href={href(`/audit-log?action=${action}`)}>audit log</a>.
    </p>
  );
}

/** A page whose record is not loaded, or cannot be. It is the same element as the final page, so the focus stays. */
export const loadingPage = (title: string, error: unknown) => (
  <Page title={title}>
    <Loading error={error} />
    {error instanceof ClientProblem && error.status === 404 && <Deleted />}
  </Page>
);

/** Shown until data arrives: nothing at first, then "Loading…", or the error. */
export function Loading({ error }: { error: unknown }) {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 200);
    return () => clearTimeout(timer);
  }, []);
  if (error !== undefined) return <Problem error={error} />;
  return isLate ? <p class="hint">Loading…</p> : null;
}
