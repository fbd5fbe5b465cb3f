import { signal } from "@preact/signals";
import { control, type JournalEntry, type Preview } from "./control.ts";
import { Action } from "./controls.tsx";
import { countOf } from "./format-time.ts";

/** What a copy of the service did when it was last run ahead. */
export const lookedAhead = signal<Preview | undefined>(undefined);
/** How far to look. */
export const lookUntil = signal("1h");

/** Runs a copy of the service ahead. Nothing changes here, and nothing is sent. */
export async function lookAhead(until = lookUntil.value): Promise<void> {
  lookUntil.value = until;
  lookedAhead.value = await control.preview(/^\d/.test(until) ? { by: until } : { to: until });
}

const ends: Readonly<Record<string, string>> = {
  active: "succeeded",
  completed: "completed",
  failed: "failed",
  cancelled: "cancelled",
  rolled_back: "rolled back",
};

/** What these entries come to: "2 deployments succeeded, 1 delivery accepted, 3 refused". */
export function outcomesOf(entries: readonly JournalEntry[]): string {
  const counts = new Map<string, number>();
  const add = (key: string) => counts.set(key, (counts.get(key) ?? 0) + 1);
  for (const one of entries) {
    if (one.kind === "state" && one.status in ends) add(`${one.of} ${ends[one.status]}`);
    if (one.kind === "try") add(one.status !== null && one.status < 300 ? "delivery accepted" : "delivery refused");
  }
  // Deployments before the deliveries that they cause.
  return [...counts]
    .sort(([one], [other]) => (one < other ? 1 : -1))
    .map(([key, count]) => {
      const [noun = "", ...verb] = key.split(" ");
      return `${countOf(count, noun, noun === "delivery" ? "deliveries" : `${noun}s`)} ${verb.join(" ")}`;
    })
    .join(", ");
}

export const LookAhead = ({ open }: { open: () => void }) => (
  <Action
    kind="quiet"
    icon="telescope"
    run={async () => {
      await lookAhead();
      open();
    }}
  >
    Look ahead
  </Action>
);
