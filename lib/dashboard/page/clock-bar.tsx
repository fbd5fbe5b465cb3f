import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { sentenceOf } from "./api.ts";
import {
  advance,
  type ClockState,
  type Due,
  freezeClock,
  pageOf,
  readClock,
  readUpcoming,
  runClock,
  type Target,
  workOf,
} from "./clock.ts";
import { control } from "./control.ts";
import { Action, Button } from "./controls.tsx";
import { countOf, instantOf, lengthOf } from "./format-time.ts";
import { type Change, serviceNow, serviceTime, useRead } from "./live.ts";
import { href } from "./router.ts";
import { Toasts, useToasts } from "./toasts.tsx";
import { Undo } from "./undo.tsx";
import { Failure, Tell, useWork } from "./work.tsx";

const steps = ["10s", "2m", "2h", "1d"] as const;
const moving = ["instruments", "journal", "deployment", "generation", "delivery"];
const concerns = ({ kind }: Change) => moving.includes(kind);

interface Shown {
  readonly clock: ClockState;
  readonly upcoming: readonly Due[];
}

/** The service's clock (`dev`): shows the time and the next due work, and moves a manual clock forward and back. */
export function ClockBar({ children }: { children: ComponentChildren }) {
  const { toasts, say, tell } = useToasts();
  const [isOpen, setOpen] = useState(false);
  const { data } = useRead<Shown>(
    "clock",
    async () => {
      const [clock, upcoming] = await Promise.all([readClock(), readUpcoming()]);
      return { clock, upcoming };
    },
    concerns,
  );
  const clock = data?.clock;
  const run = (target: Target) => async () => {
    const { ran, from } = await advance(target);
    const { outcomesOf } = await import("./pages/instruments.tsx");
    const isSince = ran > 0 && from !== undefined;
    const found = isSince ? outcomesOf((await control.journalSince(from)).filter(({ at }) => at > from)) : "";
    say(`${countOf(ran, "job")} ran${found && `: ${found}`}`);
  };
  const isRunning = clock !== undefined && clock.mode !== "manual";
  const reason = isRunning ? "The clock runs by itself. Freeze it to move it." : undefined;
  return (
    <Tell.Provider value={tell}>
      <aside class={`clock ${isRunning ? "running" : ""} ${isOpen ? "open" : ""}`} aria-label="Clock">
        <Now of={clock} />
        {!isRunning && (
          <span class="row joined">
            {steps.map((by) => (
              <Action key={by} kind="time" run={run({ by })}>
                {`+${by}`}
              </Action>
            ))}
            <Custom run={(by) => run({ by })()} />
          </span>
        )}
        <Next next={data?.upcoming[0]} reason={reason} run={run({ to: "next" })} />
        {!isRunning && <Undo say={say} />}
        <Toasts of={toasts} />
        <span class="row tools">{children}</span>
        <span class="more">
          <Button kind="quiet" icon="more" isIcon isExpanded={isOpen} onClick={() => setOpen(!isOpen)}>
            More of the clock
          </Button>
        </span>
      </aside>
    </Tell.Provider>
  );
}

/** The time, how fast it passes, and the button that stops it or lets it run on. */
function Now({ of }: { of: ClockState | undefined }) {
  const now = serviceTime.value && instantOf(new Date(serviceNow()).toISOString());
  const ahead = serviceNow() - Date.now();
  const pace =
    of &&
    (of.mode === "scaled"
      ? of.speed === 1 && ahead >= 1_000
        ? `runs, ${lengthOf(ahead)} ahead`
        : `${of.speed}x`
      : of.is_frozen
        ? "frozen"
        : of.mode);
  return (
    <span class="row">
      <span class="clock-now">
        <time dateTime={now}>{now}</time> <span class="far">UTC</span>
      </span>
      {pace && <span class="hint pace">{pace}</span>}
      {of && of.mode !== "manual" && (
        <Action kind="time" icon="snowflake" run={freezeClock}>
          Freeze
        </Action>
      )}
      {of?.is_frozen && (
        <Action kind="time" icon="play" run={runClock}>
          Let it run
        </Action>
      )}
    </span>
  );
}

/** The next due work, and a button that advances the clock to it. */
function Next({
  next,
  reason,
  run,
}: {
  next: Due | undefined;
  reason: string | undefined;
  run: () => Promise<unknown>;
}) {
  const page = pageOf(next?.id ?? null);
  const wait = next && serviceTime.value ? Date.parse(next.at) - serviceNow() : undefined;
  return (
    <span class="row next">
      <Action kind="time" icon="next" reason={reason ?? (next ? undefined : "No work is waiting.")} run={run}>
        To the next
      </Action>
      {next ? (
        <span class="hint next-work" title={workOf(next)}>
          {wait !== undefined && (wait > 0 ? `in ${lengthOf(wait)}: ` : "now: ")}
          {page ? <a href={href(page)}>{workOf(next)}</a> : workOf(next)}
        </span>
      ) : (
        <span class="hint next-work">nothing is due</span>
      )}
    </span>
  );
}

function Custom({ run }: { run: (by: string) => Promise<unknown> }) {
  const [by, setBy] = useState("");
  const { isBusy, error, start, forget } = useWork(() =>
    // "1 h 59 m", as the page writes it, and "5 min" are durations too.
    run(by.replace(/\s+/g, "").replace(/min/g, "m")).catch((problem) => {
      throw new Error(sentenceOf(problem).replace(/^By /, "Advance by "));
    }),
  );
  const why = by.trim() === "" ? "Enter a duration such as 36h." : undefined;
  return (
    <form
      class="clock-custom action"
      onFocusOut={forget}
      onSubmit={(event) => {
        event.preventDefault();
        if (why === undefined) void start();
      }}
    >
      <input
        aria-label="Advance by"
        placeholder="36h"
        value={by}
        autocomplete="off"
        spellcheck={false}
        onInput={({ currentTarget }) => setBy(currentTarget.value)}
      />
      <Button type="submit" kind="time" reason={why} isBusy={isBusy}>
        Advance
      </Button>
      <Failure error={error} />
    </form>
  );
}
