import { useState } from "preact/hooks";
import { Button } from "../controls.tsx";
import { EveryOrder } from "../pages/orders.tsx";
import { place, setQuery } from "../router.ts";
import { Empty, Loading, loadingPage, Page } from "../ui.tsx";
import { Ahead } from "./timeline-ahead.tsx";
import { Axis } from "./timeline-axis.tsx";
import { Past, Picked } from "./timeline-past.tsx";
import { type Beyond, type Timeline, useTimeline } from "./timeline-state.ts";

const AxisButtons = ({ of: { zoom, showAll, toNow } }: { of: Timeline }) => (
  <>
    <Button onClick={() => zoom(0.5)}>Zoom in</Button>
    <Button onClick={() => zoom(2)}>Zoom out</Button>
    <Button onClick={showAll}>All</Button>
    <Button onClick={toNow}>Now</Button>
  </>
);

/** Leads from a view without marks to the nearest one. */
const Leads = ({ of: { count, nearest }, word, go }: { of: Beyond; word: string; go: (time: number) => void }) =>
  nearest === undefined ? null : (
    <Button kind="quiet" onClick={() => go(nearest)}>
      {`${count} ${word}`}
    </Button>
  );

const Plot = ({ of: { entries, axis, seen, beyond, center }, isDock }: { of: Timeline; isDock?: true }) =>
  entries.length === 0 ? (
    <Empty>Nothing has happened yet. Call the API, or create a project on the Projects page.</Empty>
  ) : (
    <>
      <Axis {...axis} />
      {axis.lanes.every(({ marks }) => marks.every(({ at, to = at }) => to < seen.from || at > seen.to)) && (
        <p class="hint row" role="status">
          Nothing in this window. <Leads of={beyond.before} word="earlier" go={center} />
          <Leads of={beyond.after} word="later" go={center} />
        </p>
      )}
      <p id="axis-keys" class={isDock ? "unseen" : "hint"}>
        Drag, or ← and → to pan; Ctrl and the wheel, or + and − to zoom; Shift with ← and → goes from mark to mark,
        Enter opens one, Escape returns to now.
      </p>
    </>
  );

const Details = ({ of, isDock }: { of: Timeline; isDock?: true }) => {
  const { picked, entries, journal, at, now, about, leave, ahead } = of;
  return (
    <>
      {!(isDock && ahead && at === undefined) && (
        <div class="stack">
          {picked.length > 0 && <Picked marks={picked} />}
          <Past entries={entries} journal={journal} at={at} now={now} snapshots={about.snapshots} onLeave={leave} />
        </div>
      )}
      <Ahead now={now} isManual={about.clock.mode === "manual"} />
    </>
  );
};

/** Everything that happened, on one axis: requests, states, events and attempts. */
export function TimelinePage() {
  const past = Date.parse(place.value.query.get("at") ?? "");
  const { timeline, error } = useTimeline(Number.isNaN(past) ? undefined : past, (at) =>
    setQuery({ at: at === undefined ? "" : new Date(at).toISOString() }),
  );
  if (!timeline) return loadingPage("Timeline", error);
  return (
    <Page title="Timeline" actions={<AxisButtons of={timeline} />}>
      <Plot of={timeline} />
      <div class="halves even">
        <Details of={timeline} />
      </div>
      <EveryOrder />
    </Page>
  );
}

/** The timeline at the bottom of all other pages. */
export function TimelineDock() {
  const [at, setAt] = useState<number>();
  const { timeline, error } = useTimeline(at, setAt);
  return (
    <section class="axis-dock" aria-label="Timeline">
      {timeline ? (
        <>
          <div class="stack">
            <Plot of={timeline} isDock />
          </div>
          <div class="stack">
            <div class="row">
              <AxisButtons of={timeline} />
            </div>
            <Details of={timeline} isDock />
          </div>
        </>
      ) : (
        <Loading error={error} />
      )}
    </section>
  );
}
