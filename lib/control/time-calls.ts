import * as v from "valibot";
import type { ClockControl } from "../app/advance-clock.ts";
import { moveClock, type Preview, type PreviewTarget } from "../app/preview.ts";
import type { Upcoming } from "../jobs/upcoming.ts";
import { type Clock, parseInstant } from "../kernel/clock.ts";
import { parseDuration } from "../kernel/duration.ts";
import { Problem } from "../kernel/errors.ts";
import { durationText, instantText, oneOf, record } from "../kernel/validation.ts";
import { type Call, call } from "./call.ts";

export interface TimePorts {
  readonly clock: Clock;
  readonly clockControl: ClockControl;
  readonly upcoming: () => Promise<Upcoming[]>;
  readonly preview: (target: PreviewTarget) => Promise<Preview>;
}

const words = ["next", "idle"] as const;
/** How far the clock is moved. */
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

/** Throws a 422 for both, and for none. */
export function targetOf({ by, to }: v.InferOutput<typeof target>): PreviewTarget {
  if ((by === undefined) === (to === undefined)) throw eitherOf(["by", "to"]);
  if (to === "next" || to === "idle") return to;
  return to === undefined ? { by: parseDuration(by ?? "") ?? 0 } : { to: parseInstant(to) ?? 0 };
}

/** The clock, and the work that falls due. */
export const timeCalls = ({ clock, clockControl, upcoming, preview }: TimePorts): Call[] => {
  const show = () => ({ now: clock.iso(), mode: clock.mode });
  return [
    call({ method: "GET", path: "clock", run: show }),
    call({
      method: "POST",
      path: "clock/advance",
      body: target,
      run: ({ body }) => moveClock(clockControl, targetOf(body)),
    }),
    call({
      method: "POST",
      path: "clock/freeze",
      run() {
        clockControl.freeze();
        return show();
      },
    }),
    call({ method: "GET", path: "upcoming", run: upcoming }),
    call({ method: "POST", path: "preview", body: target, run: ({ body }) => preview(targetOf(body)) }),
    call({ method: "POST", path: "settle", run: clockControl.settle }),
  ];
};
