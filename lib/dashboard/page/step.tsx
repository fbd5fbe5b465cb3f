import { session } from "./api.ts";
import { advance, type Due, readUpcoming } from "./clock.ts";
import { control } from "./control.ts";
import { Action } from "./controls.tsx";
import { instantOf } from "./format-time.ts";
import { speed, useRead } from "./live.ts";

const kinds = ["deployment", "generation", "instruments"];

interface Work {
  readonly family: "deployments" | "generations";
  readonly of: { readonly id: string; readonly status: string };
}

/** The job that moves this work on: null if none waits, undefined while that is not known. */
function useNext({ family, of: { id, status } }: Work): Due | null | undefined {
  const isDev = session.value?.mode === "dev";
  const { data } = useRead(
    `step ${id}`,
    async () => (isDev ? readUpcoming() : undefined),
    ({ kind }) => kinds.includes(kind),
  );
  // The job that starts queued work names none of it.
  const waits = (one: Due) => one.id === id || (status === "queued" && one.kind.startsWith(`${family}.turn`));
  return data && (data.find(waits) ?? null);
}

/** Moves work of the pace `manual` or `polls` by one state. No job waits for such work, as one does for other work. */
export function Step(work: Work) {
  if (useNext(work) !== null) return null;
  return (
    <Action icon="next" run={() => control.step(work.family, work.of.id)}>
      Step
    </Action>
  );
}

/** Says that work waits because the clock stands, and moves the clock. */
export function Standing(work: Work) {
  const next = useNext(work);
  if (!next || speed.value !== 0) return null;
  return (
    <p class="row" role="status">
      The clock stands, and this waits until {instantOf(next.at)} UTC.
      <Action kind="time" icon="next" run={() => advance({ to: "next" })}>
        To the next
      </Action>
    </p>
  );
}
