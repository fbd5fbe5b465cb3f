import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import {
  advance,
  type ClockState,
  type Due,
  freezeClock,
  moves,
  pageOf,
  readClock,
  readUpcoming,
  type Target,
  undo,
  workOf,
} from "./clock.ts";
import { Action, Button, Problem, useWork } from "./controls.tsx";
import { instantOf, lengthOf } from "./format-time.ts";
import { type Change, serviceTime, setServiceTime, useRead } from "./live.ts";
import { href } from "./router.ts";

const steps = ["10s", "2m", "2h", "1d"] as const;
const moving = ["instruments", "journal", "deployment", "generation", "delivery"];
const concerns = ({ kind }: Change) => moving.includes(kind);

interface Shown {
  readonly clock: ClockState;
  readonly upcoming: readonly Due[];
}

/** The service's clock (`dev`): shows the time and the next due work, and moves a manual clock forward and back. */
export function ClockBar({ children }: { readonly children: ComponentChildren }) {
  const [ran, setRan] = useState<number>();
  const { data } = useRead<Shown>(
    "clock",
    async () => {
      const [clock, upcoming] = await Promise.all([readClock(), readUpcoming()]);
      setServiceTime(clock.now);
      return { clock, upcoming };
    },
    concerns,
  );
  const mode = data?.clock.mode;
  const run = (target: Target) => async () => setRan((await advance(target)).ran);
  const reason = mode === "manual" ? undefined : "The clock runs by itself. Freeze it to move it.";
  const last = moves.value.at(-1);
  return (
    <aside class="clock" aria-label="Clock">
      <Now mode={mode} />
      <span class="row">
        {steps.map((by) => (
          <Action key={by} kind="time" reason={reason} run={run({ by })}>
            {`+${by}`}
          </Action>
        ))}
        <Custom reason={reason} run={(by) => run({ by })()} />
      </span>
      <Next next={data?.upcoming[0]} reason={reason} run={run({ to: "next" })} />
      <span class="row">
        <Action
          reason={last ? undefined : "This tab has not moved the clock yet."}
          run={async () => {
            await undo();
            setRan(undefined);
          }}
        >
          Undo
        </Action>
        {last && <span class="hint">back to {instantOf(last.from)}</span>}
        {mode !== undefined && mode !== "manual" && <Action run={freezeClock}>Freeze</Action>}
      </span>
      {children}
      {ran !== undefined && <span class="hint" role="status">{`${ran} ${ran === 1 ? "job" : "jobs"} ran`}</span>}
    </aside>
  );
}

function Now({ mode }: { readonly mode: ClockState["mode"] | undefined }) {
  const [, tick] = useState(0);
  useEffect(() => {
    if (mode !== "real") return;
    const timer = setInterval(() => tick((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, [mode]);
  const last = serviceTime.value;
  const passed = mode === "real" && last ? performance.now() - last.received : 0;
  const now = last && new Date(last.now + passed).toISOString();
  return (
    <span>
      <span class="clock-now">
        <time dateTime={now}>{now && instantOf(now)}</time> UTC
      </span>{" "}
      <span class="hint">{mode}</span>
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
  const now = serviceTime.value?.now;
  const wait = next && now !== undefined ? Date.parse(next.at) - now : undefined;
  return (
    <span class="row">
      <Action kind="time" reason={reason ?? (next ? undefined : "No work is waiting.")} run={run}>
        To the next
      </Action>
      {next ? (
        <span class="hint">
          {page ? <a href={href(page)}>{workOf(next)}</a> : workOf(next)}
          {wait !== undefined && (wait > 0 ? ` in ${lengthOf(wait)}` : " now")}
        </span>
      ) : (
        <span class="hint">nothing is due</span>
      )}
    </span>
  );
}

function Custom({
  reason,
  run,
}: {
  readonly reason: string | undefined;
  readonly run: (by: string) => Promise<unknown>;
}) {
  const [by, setBy] = useState("");
  const { isBusy, error, start } = useWork(() => run(by.trim()));
  const why =
    reason ?? (isBusy ? "This is already running." : by.trim() === "" ? "Enter a duration such as 36h." : undefined);
  return (
    <form
      class="clock-custom"
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
      <Button type="submit" kind="time" reason={why}>
        Advance
      </Button>
      <Problem error={error} />
    </form>
  );
}
