import { parseInstant } from "../lib/kernel/clock.ts";
import { parseDuration } from "../lib/kernel/text/duration.ts";
import { UsageError } from "./arguments.ts";
import { commandGroup, connectionArgs } from "./connection.ts";
import { controlOf } from "./control-client.ts";
import { command, type Given, listed, option, optionalWord } from "./define-command.ts";
import { counted, sayResult } from "./output.ts";

const show = command("show", "", connectionArgs, async (args) => {
  const clock = await controlOf(args)<{ now: string; mode: string }>("GET clock");
  sayResult(args, clock, `${clock.now}  ${clock.mode}`);
});

function targetOf({ by, to }: Given): { by: string } | { to: string } {
  if (by !== undefined && to !== undefined) throw new UsageError("give a duration or --to, not both");
  if (by === undefined && to === undefined)
    throw new UsageError("give a duration or --to: svc-server clock advance 2h");
  if (to === undefined) {
    if (parseDuration(String(by)) === undefined)
      throw new UsageError(`"${by}" is not a duration; write one such as 2h or 2h42m30s`);
    return { by: String(by) };
  }
  if (to !== "next" && to !== "idle" && parseInstant(String(to)) === undefined)
    throw new UsageError("option --to must be an instant such as 2027-01-01T00:00:00Z, next or idle");
  return { to: String(to) };
}

const advance = command(
  "advance",
  "Only a clock of the mode manual can be advanced: svc-server dev --clock manual.",
  {
    by: optionalWord("The duration: 30s, 2h, 7d."),
    to: option(
      "The new time, such as 2027-01-01T00:00:00Z; next for the next due work, idle until no work is due.",
      "INSTANT",
    ),
    ...connectionArgs,
  },
  async (args) => {
    const target = targetOf(args);
    const moved = await controlOf(args)<{ now: string; ran: number }>("POST clock/advance", target);
    sayResult(args, moved, `${moved.now}, ${counted(moved.ran, "jobs")} ran`);
  },
);

export const clock = commandGroup("clock", "show", {
  show: listed("Show the time, and the mode of the clock", "clock", show),
  advance: listed("Advance a manual clock, and run what falls due on the way", "clock advance 2h", advance),
});

export const reset = command(
  "reset",
  "To put a backup of a database file back, use svc-server restore.",
  connectionArgs,
  async (args) => {
    const now = await controlOf(args)<{ now: string }>("POST reset");
    sayResult(args, now, `The emulator is reset; the clock shows ${now.now}.`);
  },
);
