import * as v from "valibot";
import type { ClockControl } from "../../jobs/clock-control.ts";
import type { Upcoming } from "../../jobs/upcoming.ts";
import { type Clock, parseInstant } from "../../kernel/clock.ts";
import { Problem } from "../../kernel/errors.ts";
import { parseDuration } from "../../kernel/text/duration.ts";
import { durationText, instantText, oneOf, record } from "../../kernel/validation.ts";
import { moveClock, type Preview, type PreviewTarget } from "../preview.ts";
import { type ControlCall, callsWith } from "./call.ts";

export interface TimePorts {
  readonly clock: Clock;
  readonly clockControl: ClockControl;
  readonly upcoming: () => Promise<Upcoming[]>;
  readonly preview: (target: PreviewTarget) => Promise<Preview>;
}

const words = ["next", "idle"] as const;
/** How far to move the clock. */
export const target = record({
  by: v.optional(durationText()),
  to: v.optional(
    v.union([oneOf(words), instantText()], 'must be an instant such as 2026-01-01T00:00:00Z, "next" or "idle"'),
  ),
});

export const eitherOf = ([first, second]: readonly [string, string]) => {
  const message = `give either "${first}" or "${second}", not both`;
  return new Problem("validation_failed", message, { details: [{ path: first, message }] });
};

/** Throws a 422 if both fields are given, or neither. */
export function targetOf({ by, to }: v.InferOutput<typeof target>): PreviewTarget {
  if ((by === undefined) === (to === undefined)) throw eitherOf(["by", "to"]);
  if (to === "next" || to === "idle") return to;
  return to === undefined ? { by: parseDuration(by ?? "") ?? 0 } : { to: parseInstant(to) ?? 0 };
}

const call = callsWith<TimePorts>();
const show = ({ clock: { mode, speed, isFrozen, iso } }: TimePorts) => ({
  now: iso(),
  mode,
  speed,
  is_frozen: isFrozen,
});

export const timeCalls: readonly ControlCall<TimePorts>[] = [
  call({
    id: "clock.show",
    summary: "Show the time of the emulator, and the mode and the speed of its clock",
    method: "GET",
    path: "clock",
    run: (_, ports) => show(ports),
  }),
  call({
    id: "clock.advance",
    summary:
      "Advance a manual clock by a duration such as 2h, or to an instant, to the next due work (next) or until no work is due (idle), and run all work that falls due on the way",
    method: "POST",
    path: "clock/advance",
    body: target,
    run: ({ body }, { clockControl }) => moveClock(clockControl, targetOf(body)),
  }),
  call({
    id: "clock.freeze",
    summary: "Stop the clock; from then on it is a manual clock",
    method: "POST",
    path: "clock/freeze",
    run(_, ports) {
      ports.clockControl.freeze();
      return show(ports);
    },
  }),
  call({
    id: "clock.run",
    summary: "Let a frozen clock run on, as before, or from where it was moved to",
    method: "POST",
    path: "clock/run",
    async run(_, ports) {
      await ports.clockControl.goOn();
      return show(ports);
    },
  }),
  call({ method: "GET", path: "upcoming", run: (_, { upcoming }) => upcoming() }),
  call({ method: "POST", path: "preview", body: target, run: ({ body }, { preview }) => preview(targetOf(body)) }),
  call({
    id: "settle",
    summary: "Run all work that is due now",
    method: "POST",
    path: "settle",
    run: (_, { clockControl }) => clockControl.settle(),
  }),
];
