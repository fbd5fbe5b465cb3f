import { advance } from "../clock.ts";
import type { Preview } from "../control.ts";
import { Action, Button, Select } from "../controls.tsx";
import { clockOf, instantOf } from "../format-time.ts";
import { forgetLook, lookAhead, lookedAhead, lookUntil } from "../look-ahead.tsx";
import { href } from "../router.ts";
import { type LaneNames, useLaneNames } from "../timeline-names.ts";
import { Empty, Section, Text } from "../ui.tsx";
import { outcomesOf, subjectsOf } from "./outcomes.ts";
import { lanesOf } from "./timeline-lanes.ts";

const targets: readonly (readonly [string, string])[] = [
  ["next", "the next due work"],
  ["10s", "10 s from now"],
  ["2m", "2 min from now"],
  ["1h", "an hour from now"],
  ["1d", "a day from now"],
  ["idle", "the end of all work"],
];
const most = 200;

/** Shows what would happen, by running a fork that sends nothing over the network. */
export function Ahead({ now, isManual }: { now: number; isManual: boolean }) {
  const of = lookedAhead.value;
  const reason = isManual ? undefined : "The clock runs by itself. Freeze it to move it.";
  return (
    <Section title="What happens next">
      <div class="row">
        <Select
          label="Until"
          value={lookUntil.value}
          options={targets}
          onChange={(until) => void lookAhead(until)}
          isBare
        />
        {of && (
          <>
            <Action
              kind="time"
              reason={reason}
              run={async () => {
                await advance({ to: of.now });
                forgetLook();
              }}
            >
              Go there
            </Action>
            <Button kind="quiet" onClick={forgetLook}>
              Forget
            </Button>
          </>
        )}
      </div>
      {of ? (
        <Found of={of} isOld={Date.parse(of.from) !== now && isManual} />
      ) : (
        <Empty>
          <em>Look ahead</em>, in the bar below, runs a copy of the service and throws it away. Nothing changes here,
          and nothing is sent.
        </Empty>
      )}
    </Section>
  );
}

/** What happens, in one sentence. */
function answerOf({ entries, now }: Preview, names: LaneNames): string {
  if (entries.length === 0) return `Nothing happens until ${instantOf(now)} UTC.`;
  return `${outcomesOf(entries, names) || "No work ends, and nothing is delivered"}.`;
}

function Found({ of, isOld }: { of: Preview; isOld: boolean }) {
  const names = useLaneNames();
  const subjectOf = subjectsOf(of.entries, names);
  const marks = lanesOf([], of.entries, names)
    .flatMap(({ marks, title }) => marks.map((mark) => ({ mark, title: subjectOf(mark.entry) ?? title })))
    .sort((one, other) => one.mark.entry.seq - other.mark.entry.seq);
  return (
    <>
      <p role="status">
        <strong>
          <Text of={answerOf(of, names)} />
        </strong>
      </p>
      <p class="hint">
        Until {instantOf(of.now)} UTC: {of.ran} {of.ran === 1 ? "job" : "jobs"}, {marks.length}{" "}
        {marks.length === 1 ? "entry" : "entries"}.{isOld && " The clock was moved since then: look again."}
      </p>
      <ol class="list ahead-list" aria-label="What would happen">
        {marks.slice(0, most).map(({ mark, title }) => (
          <li key={mark.key} class="entry">
            <span class="mono">{clockOf(mark.entry.at)}</span>
            <span class={mark.hue}>{mark.text.replaceAll("_", " ")}</span>
            {mark.page ? (
              <a class="mono hint" href={href(mark.page)} title={"id" in mark.entry ? mark.entry.id : undefined}>
                <Text of={title} />
              </a>
            ) : (
              <span class="mono hint">{title}</span>
            )}
          </li>
        ))}
      </ol>
      {marks.length > most && <p class="hint">The first {most} are shown.</p>}
    </>
  );
}
