import type { JournalEntry } from "../control.ts";
import { countOf } from "../format-time.ts";
import { isGood } from "../receiver-health.tsx";
import { shortVersion } from "../sources.ts";
import type { LaneNames } from "../timeline-names.ts";

/** How an event ends work: of one, of several, and in the past. */
const endings: Readonly<Record<string, readonly [one: string, many: string, past: string]>> = {
  "deployment.succeeded": ["succeeds", "succeed", "succeeded"],
  "deployment.failed": ["fails", "fail", "failed"],
  "deployment.rolled_back": ["is rolled back", "are rolled back", "rolled back"],
  "generation.completed": ["completes", "complete", "completed"],
  "generation.failed": ["fails", "fail", "failed"],
};
const delivery = (count: number) => countOf(count, "delivery", "deliveries");

/**
 * How work ends, and which deliveries are accepted or refused: "2 deployments succeed · dead.inbox.test refuses 3
 * deliveries". In the past without names: "2 deployments succeeded · 3 deliveries refused".
 */
export function outcomesOf(entries: readonly JournalEntry[], names?: LaneNames): string {
  const tries = entries.filter((one) => one.kind === "try");
  const work = Object.entries(endings).flatMap(([event, [one, many, past]]) => {
    const count = entries.filter((entry) => entry.kind === "event" && entry.event === event).length;
    const [noun = ""] = event.split(".");
    const verb = count === 1 ? one : many;
    return count === 0 ? [] : [`${countOf(count, noun)} ${names ? verb : past}`];
  });
  const accepted = tries.filter(isGood).length;
  const refused = new Map<string, number>();
  for (const one of tries.filter((of) => !isGood(of))) {
    const receiver = names ? (names.get(one.endpoint_id) ?? one.endpoint_id) : "";
    refused.set(receiver, (refused.get(receiver) ?? 0) + 1);
  }
  const verb = names ? (accepted === 1 ? "is accepted" : "are accepted") : "accepted";
  return [
    ...work,
    ...(accepted === 0 ? [] : [`${delivery(accepted)} ${verb}`]),
    ...[...refused].map(([name, count]) =>
      name ? `${name} refuses ${delivery(count)}` : `${delivery(count)} refused`,
    ),
  ].join(" · ");
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");

/** What entries are about: a deployment by project, environment and version, a generation by prompt. */
export function subjectsOf(
  entries: readonly JournalEntry[],
  names: LaneNames,
): (entry: JournalEntry) => string | undefined {
  const dataOf = (entry: JournalEntry) => (entry.kind === "event" ? (entry.data as Record<string, unknown>) : {});
  const versions = new Map(entries.map(dataOf).map(({ deployment_id, version }) => [deployment_id, text(version)]));
  return (entry) => {
    if (entry.kind !== "event" && entry.kind !== "state") return undefined;
    const { deployment_id, generation_id, project_id, environment, name, email } = dataOf(entry);
    const id = entry.kind === "state" ? entry.id : text(deployment_id ?? generation_id);
    const known = names.get(id) ?? [names.get(text(project_id)), environment].filter(Boolean).join(" · ");
    return [known || text(name ?? email), shortVersion(versions.get(id) ?? "")].filter(Boolean).join(" ") || undefined;
  };
}
