import type { Advanced, ClockControl } from "../jobs/clock-control.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Journal, JournalEntry } from "./instruments/journal.ts";

/** The end of a preview: after a duration, at an instant, at the next due work, or when no work is waiting. */
export type PreviewTarget = { readonly by: number } | { readonly to: number } | "next" | "idle";

/** The events and changes that would happen up to the target. */
export interface Preview extends Advanced {
  /** The time at the start of the preview. */
  readonly from: string;
  /** The state changes, events and attempts, in their order. */
  readonly entries: readonly JournalEntry[];
}

/** Moves the clock by a duration, to an instant, to the next due work, or until no work is waiting. */
export function moveClock(control: ClockControl, target: PreviewTarget): Promise<Advanced> {
  if (target === "idle") return control.runUntilIdle();
  if (target === "next") return control.advanceToNext();
  return "by" in target ? control.advanceBy(target.by) : control.advanceTo(target.to);
}

/** Moves the clock of a muted fork and returns the journal entries that this adds. */
export async function lookAhead(
  { clock, clockControl, journal }: { clock: Clock; clockControl: ClockControl; journal: Journal },
  target: PreviewTarget,
): Promise<Preview> {
  const from = clock.iso();
  const since = journal.list().at(-1)?.seq ?? 0;
  const { now, ran } = await moveClock(clockControl, target);
  return { from, now, ran, entries: journal.list({ since }) };
}
