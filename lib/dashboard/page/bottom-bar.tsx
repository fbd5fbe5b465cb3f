import { signal } from "@preact/signals";
import { ClockBar } from "./clock-bar.tsx";
import { Button } from "./controls.tsx";
import { LookAhead } from "./look-ahead.tsx";
import { InstrumentPage } from "./pages/instrument-pages.tsx";
import { Recorder } from "./recorder/recorder.tsx";
import { place } from "./router.ts";

const stored = "svc-time-axis";

/** Whether the time axis is open above the clock. The browser remembers it. */
const isAxisOpen = signal(localStorage.getItem(stored) === "open");

export function toggleAxis(): void {
  isAxisOpen.value = !isAxisOpen.value;
  localStorage.setItem(stored, isAxisOpen.value ? "open" : "closed");
}

/**
 * The bottom of every page in `dev`: the clock, and the time axis while it is open. The timeline page has its own axis.
 */
export function BottomBar() {
  const isTimeline = place.value.path === "/timeline";
  return (
    <div class="bottom-bar">
      {isAxisOpen.value && !isTimeline && <InstrumentPage feature="dock" />}
      <ClockBar>
        <LookAhead open={() => !isTimeline && !isAxisOpen.value && toggleAxis()} />
        <Recorder />
        <Button
          kind="quiet"
          icon="gantt"
          isExpanded={isAxisOpen.value && !isTimeline}
          reason={isTimeline ? "This page shows the time axis." : undefined}
          onClick={toggleAxis}
        >
          Time axis
        </Button>
      </ClockBar>
    </div>
  );
}
