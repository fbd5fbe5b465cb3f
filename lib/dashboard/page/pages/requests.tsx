import type { RecentBody, RecentRequest } from "../../../http/recent-requests.ts";
import { session } from "../api.ts";
import { Field, Select } from "../controls.tsx";
import { instantOf, lengthOf } from "../format-time.ts";
import { curlOf } from "../forms/call-forms.ts";
import { type Change, usePoll, useRead } from "../live.ts";
import { useNames } from "../names.ts";
import { Block, Copy, Facts, indented, Records, Ref } from "../parts.tsx";
import { readRequests } from "../recent-requests.ts";
import { Caused, parsed } from "../request-effects.tsx";
import { href, origin, place, setQuery } from "../router.ts";
import { Empty, loadingPage, Page, Section, sinceStart, Text, Time } from "../ui.tsx";
import { Pages } from "./projects.tsx";

type Found = RecentRequest & {
  readonly has_bodies: boolean;
  readonly body: RecentBody | null;
  readonly answer: RecentBody | null;
};

const concerns = ({ kind }: Change) => ["journal", "instruments", "event", "record", "requests"].includes(kind);
/** In `start` no message tells of a request, so the list is read again this often. */
const interval_ms = 5_000;

const Answered = ({ of: { status, code } }: { of: RecentRequest }) => (
  <span class={`mono ${status === null || status >= 400 ? "bad" : "good"}`}>
    {status ?? "broke off"} {code}
  </span>
);

const statuses: readonly (readonly [string, string])[] = [
  ["", "All statuses"],
  ["error", "Errors"],
  ["2", "2xx"],
  ["4", "4xx"],
  ["5", "5xx"],
];
const calls: readonly (readonly [string, string])[] = [
  ["", "All calls"],
  ["api", "Calls of the API"],
  ["control", "Control calls"],
];
const methods = ["", "GET", "POST", "PUT", "PATCH", "DELETE"].map((one) => [one, one || "All methods"] as const);

/** Only owners and admins read requests, as they read the audit log. */
function Barred() {
  return (
    <Page title="Requests">
      <Empty>{`Your role ${session.value?.role} cannot see requests; it needs owner or admin.`}</Empty>
    </Page>
  );
}
const isBarred = () => !["owner", "admin"].includes(session.value?.role ?? "");

/** Every call of the last hour, newest first. */
export function RequestsPage() {
  const { query } = place.value;
  const names = useNames();
  const { data, error } = useRead(
    `requests ${query}`,
    async (signal) =>
      isBarred()
        ? undefined
        : readRequests<{ data: readonly RecentRequest[]; next: number | null }>(`?${query}`, signal),
    concerns,
  );
  usePoll("requests", session.value?.mode === "start" ? interval_ms : undefined);
  if (isBarred()) return <Barred />;
  const filter = (name: string) => ({
    value: query.get(name) ?? "",
    onChange: (value: string) => setQuery({ [name]: value, before: "" }),
  });
  const { value, onChange } = filter("search");
  return (
    <Page title="Requests">
      <p class="hint">
        The calls of programs in the last hour of this machine
        {session.value?.mode === "dev"
          ? ", and what was changed through the control interface"
          : ", as far as this server answered them"}
        . {sinceStart()}
      </p>
      <search class="filters">
        <Field label="Search" type="search" value={value} onInput={onChange} placeholder="path, identifier or error" />
        <Select label="Method" options={methods} {...filter("method")} />
        <Select label="Status" options={statuses} {...filter("status")} />
        {session.value?.mode === "dev" && <Select label="Calls" options={calls} {...filter("calls")} />}
        <Select label="Key" options={[["", "All keys"], ...names.keys]} {...filter("key_id")} />
      </search>
      <Records
        of={data?.data}
        error={error}
        empty={query.size > 0 ? "No request matches these filters." : "No program has called in the last hour."}
        columns={{
          Request: (one) => (
            <a class="mono lead" href={href(`/requests/${one.number}`)}>
              <Text of={`${one.method} ${one.path}`} />
            </a>
          ),
          Status: (one) => <Answered of={one} />,
          Time: ({ at }) => <Time at={at} />,
          Took: ({ duration_ms }) => lengthOf(duration_ms),
          Person: ({ user_id }) => user_id && <Text of={names.person(user_id)} />,
          Key: ({ key_id }) => key_id && <Text of={names.key(key_id)} />,
        }}
      />
      <Pages name="before" next={data?.next ? String(data.next) : null} />
    </Page>
  );
}

export function RequestPage({ id }: { id: string }) {
  const names = useNames();
  const { data, error } = useRead(
    `request ${id}`,
    (signal) => readRequests<Found>(`/${encodeURIComponent(id)}`, signal),
    () => false,
  );
  if (isBarred()) return <Barred />;
  if (!data) return loadingPage("Request", error);
  const { method, path, status, at, duration_ms, key_id, user_id, target, request_id } = data;
  const sent = data.body && !data.body.is_cut ? parsed(data.body.text) : undefined;
  const call = { id: "", method, path, params: {}, query: {}, body: sent };
  const takesBody = !["GET", "HEAD", "DELETE"].includes(method);
  const cut = data.body?.is_cut
    ? "The body is too long to be kept whole."
    : takesBody && !data.has_bodies
      ? "Its body was not kept."
      : undefined;
  return (
    <Page
      title={`${method} ${path}`}
      actions={
        <Copy reason={cut} text={curlOf(call, origin)}>
          Copy as curl
        </Copy>
      }
    >
      <Facts
        of={{
          Status: <Answered of={data} />,
          Time: `${instantOf(at)} UTC`,
          Took: lengthOf(duration_ms),
          Person: user_id ? names.person(user_id) : "unknown",
          Key: key_id ? names.key(key_id) : "no valid key",
          Request: <Ref of={request_id} />,
          ...(target && { About: <Ref of={target} /> }),
        }}
      />
      {target && method !== "GET" && status !== null && status < 400 && <Caused target={target} at={at} />}
      <Part title="Body" of={data.body} isKept={data.has_bodies} none="No body was read." />
      <Part title="Answer" of={data.answer} isKept={data.has_bodies} none="The answer had no text." />
    </Page>
  );
}

function Part({ title, of, isKept, none }: { title: string; of: RecentBody | null; isKept: boolean; none: string }) {
  return (
    <Section title={title}>
      {of ? (
        <Block label={title} of={indented(of.text)} />
      ) : (
        <p class="hint">{isKept ? none : "Only in the mode dev, and only for calls of /v1, bodies are kept."}</p>
      )}
      {of?.is_cut && <p class="hint">Only the first 64 KiB are kept.</p>}
    </Section>
  );
}
