import { useState } from "preact/hooks";
import { session } from "../api.ts";
import { pageOf } from "../clock.ts";
import { control, type JournalEntry, type ListeningFork, type StoredSnapshot } from "../control.ts";
import { Action, Button } from "../controls.tsx";
import { clockOf, countOf, instantOf, lengthOf } from "../format-time.ts";
import { href } from "../router.ts";
import { useLaneNames } from "../timeline-names.ts";
import { Empty, Section, Status, Text } from "../ui.tsx";
import { asOf, type Mark } from "./timeline-lanes.ts";

const most = 60;

/** The marks that were clicked on the axis. */
export const Picked = ({ marks }: { marks: readonly Mark[] }) => (
  <Section title={marks.length === 1 ? "Chosen" : `Chosen: ${marks.length}`}>
    <ol class="list" aria-label="Chosen">
      {marks.slice(0, most).map((mark) => (
        <li key={mark.key} class="entry">
          <span class="mono">{clockOf(mark.entry.at)}</span>
          <span class={mark.hue}>{mark.text.replaceAll("_", " ")}</span>
          {mark.entry.kind === "request" && (
            <span class="mono hint">
              {mark.entry.request_id} {lengthOf(mark.entry.duration_ms)}
            </span>
          )}
          {mark.page && <a href={href(mark.page)}>Open</a>}
        </li>
      ))}
    </ol>
  </Section>
);

interface PastProps {
  readonly entries: readonly JournalEntry[];
  /** Those of them that the service has seen since it started. */
  readonly journal: readonly JournalEntry[];
  readonly at: number | undefined;
  readonly now: number;
  readonly snapshots: readonly StoredSnapshot[];
  readonly onLeave: () => void;
}

/** The state at the playhead. It is read from journal and records, so the service's clock does not move. */
export function Past({ entries, journal, at, now, snapshots, onLeave }: PastProps) {
  const names = useLaneNames();
  if (at === undefined) {
    return (
      <Section title="As of a time">
        <Empty>Click on the axis to see how things stood then.</Empty>
      </Section>
    );
  }
  const { states, counts } = asOf(entries, at);
  const before = snapshots.filter((one) => Date.parse(one.now) <= at).at(-1);
  const isCut = journal[0] !== undefined && journal[0].seq > 1;
  const since = [session.value?.started_at, journal[0]?.at].filter((one) => one !== undefined).sort()[0];
  const isBefore = since !== undefined && at < Date.parse(since);
  return (
    <Section
      title={`As of ${instantOf(new Date(at).toISOString())} UTC`}
      actions={<Button onClick={onLeave}>Back to now</Button>}
    >
      <p class="facts" role="status">
        <span>{lengthOf(now - at)} before now</span>
        {!isBefore && <span>{countOf(counts.request, "request")}</span>}
        <span>{countOf(counts.event, "event")}</span>
        {!isBefore && <span>{countOf(counts.try, "attempt")}</span>}
      </p>
      {states.length === 0 && <Empty>No deployment or generation of this time is known.</Empty>}
      <ol class="list" aria-label="States">
        {states.slice(0, most).map(({ id, status, since }) => (
          <li key={id} class="entry">
            <Status of={status} />
            <a href={href(pageOf(id) ?? "/")} title={id}>
              <Text of={names.get(id) ?? id} />
            </a>
            <span class="hint">since {clockOf(since)}</span>
          </li>
        ))}
      </ol>
      {isBefore && (
        <p class="hint">
          Requests and attempts are known since {instantOf(since)}, when the service started. States and events are
          those of the newest records.
        </p>
      )}
      {isCut && (
        <p class="hint">The journal keeps the last thousand entries of each kind; earlier states are not known.</p>
      )}
      {before && <Whole key={before.id} of={before} />}
    </Section>
  );
}

/**
 * The whole earlier state for inspection: a fork of the last snapshot before it, which sends nothing over the network.
 */
function Whole({ of }: { of: StoredSnapshot }) {
  const [fork, setFork] = useState<ListeningFork>();
  const { id, name, now } = of;
  return (
    <p class="row">
      <span>
        Before it: {name ?? id} of {instantOf(now)}
      </span>
      {fork ? (
        <a href={`${fork.url}/dashboard`} target="_blank" rel="noreferrer">
          Look at {fork.id}
        </a>
      ) : (
        <Action run={async () => setFork(await control.fork({ from: id, muted: true }))}>Open it as a fork</Action>
      )}
    </p>
  );
}
