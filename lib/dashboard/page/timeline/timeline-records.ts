import { api, orNone } from "../api.ts";
import type { JournalEntry } from "../control.ts";

type State = Extract<JournalEntry, { kind: "state" }>;

/**
 * What the records themselves say: states of deployments and generations, and events, of the time before the service
 * started, which its journal has forgotten. `in_progress` stands for states whose times no record keeps.
 */
export async function readRecorded(signal: AbortSignal): Promise<readonly JournalEntry[]> {
  const newest = { per_page: 100 };
  const [deployments, generations, events] = await Promise.all([
    orNone(api.deployments.list(newest, { signal })),
    orNone(api.generations.list(newest, { signal })),
    orNone(api.events.list(newest, { signal })),
  ]);
  const state = (of: State["of"], id: string, status: string, at: string) =>
    ({ seq: 0, kind: "state", organization_id: "", of, id, status, at }) as const;
  const ends = new Map(events.data.map(({ data, timestamp }) => [data["generation_id"], timestamp]));
  return [
    ...events.data.toReversed().map(({ id, event, data, timestamp }) => ({
      ...({ seq: 0, kind: "event", organization_id: "", id, event, data, at: timestamp } as const),
    })),
    ...deployments.data.flatMap(({ id, status, created_at, completed_at }) => [
      state("deployment", id, status === "queued" ? status : "in_progress", created_at),
      ...(completed_at === null ? [] : [state("deployment", id, status, completed_at)]),
    ]),
    ...generations.data.flatMap(({ id, status, created_at }) => {
      const at = new Date(created_at * 1000).toISOString();
      const isOver = status !== "queued" && status !== "in_progress";
      const end = ends.get(id);
      return [
        ...(isOver && end === undefined
          ? []
          : [state("generation", id, status === "queued" ? status : "in_progress", at)]),
        ...(isOver ? [state("generation", id, status, end ?? at)] : []),
      ];
    }),
  ].map((entry, i) => ({ ...entry, seq: -1 - i }));
}

/** The journal and what only the records know, in the order of time. */
export function mergedWith(
  recorded: readonly JournalEntry[],
  journal: readonly JournalEntry[],
): readonly JournalEntry[] {
  const begun = new Set<string>();
  const known = new Set<string>();
  for (const entry of journal) {
    if (entry.kind !== "state" && entry.kind !== "event") continue;
    known.add(entry.id);
    if (entry.kind === "event" || entry.status === "queued") begun.add(entry.id);
  }
  const isOpening = (entry: JournalEntry) =>
    entry.kind === "state" && (entry.status === "queued" || entry.status === "in_progress");
  const missing = recorded.filter((entry) => "id" in entry && !(isOpening(entry) ? begun : known).has(entry.id));
  return [...missing, ...journal].sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}
