import type { JournalEntry } from "../control.ts";
import { countOf } from "../format-time.ts";

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
