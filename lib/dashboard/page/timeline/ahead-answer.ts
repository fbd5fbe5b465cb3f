import type { JournalEntry, Preview } from "../control.ts";
import { countOf, instantOf } from "../format-time.ts";
import { isGood } from "../receiver-health.tsx";
import { shortVersion } from "../sources.ts";
import type { LaneNames } from "../timeline-names.ts";

/** What the events of a preview say in its answer; the others are counted together. */
const verbs: Readonly<Record<string, readonly [one: string, many: string]>> = {
  "deployment.succeeded": ["deployment succeeds", "deployments succeed"],
  "deployment.failed": ["deployment fails", "deployments fail"],
  "deployment.rolled_back": ["deployment is rolled back", "deployments are rolled back"],
  "generation.completed": ["generation completes", "generations complete"],
  "generation.failed": ["generation fails", "generations fail"],
};

function countsBy<T>(of: readonly T[], keyOf: (one: T) => string): (readonly [string, number])[] {
  const counts = new Map<string, number>();
  for (const one of of) counts.set(keyOf(one), (counts.get(keyOf(one)) ?? 0) + 1);
  return [...counts];
}

/** What happens, in one sentence: how work ends, and which deliveries are accepted or refused. */
export function answerOf({ entries, now }: Preview, names: LaneNames): string {
  const tries = entries.filter((one) => one.kind === "try");
  const ends = entries.filter((one) => one.kind === "event").map(({ event }) => event);
  const refused = countsBy(
    tries.filter((one) => !isGood(one)),
    ({ endpoint_id }) => names.get(endpoint_id) ?? endpoint_id,
  );
  const good = tries.filter(isGood).length;
  const parts = [
    ...Object.entries(verbs).flatMap(([event, words]) => {
      const count = ends.filter((one) => one === event).length;
      return count === 0 ? [] : [countOf(count, ...words)];
    }),
    ...(good === 0 ? [] : [countOf(good, "delivery is accepted", "deliveries are accepted")]),
    ...refused.map(([name, count]) => `${name} refuses ${countOf(count, "delivery", "deliveries")}`),
  ];
  if (entries.length === 0) return `Nothing happens until ${instantOf(now)} UTC.`;
  return parts.length === 0 ? "No work ends, and nothing is delivered." : `${parts.join(" · ")}.`;
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");

/** What the entries of a preview are about: a deployment by project, environment and version, a generation by prompt. */
export function subjectsOf({ entries }: Preview, names: LaneNames): (entry: JournalEntry) => string | undefined {
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
