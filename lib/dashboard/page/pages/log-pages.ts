import type { LogEntry } from "../../../client/generated/records.ts";
import { api } from "../api.ts";

const perPage = 1000;

export interface Pages {
  /** The cursor of each page read so far. The last page is read again as the log grows. */
  readonly cursors: (string | undefined)[];
  entries: LogEntry[];
}

/** A log: how to read a page of it, and where links to its lines lead. */
export interface Source {
  /** Identifies the log; changes that announce new lines have the same id. */
  readonly id: string;
  /** The path of the page that shows the log. */
  readonly path: string;
  read(
    place: { readonly per_page: number; readonly cursor?: string },
    signal: AbortSignal,
  ): Promise<{ readonly data: readonly LogEntry[]; readonly meta: { readonly next_cursor: string | null } }>;
}

/** The log of a deployment. */
export const deploymentLog = (id: string): Source => ({
  id,
  path: `/deployments/${id}`,
  read: (at, signal) => api.deployments.logs({ id, ...at }, { signal }),
});

/** Reads all lines of a log. Full pages are read only once; the last page is read whenever the log has grown. */
export async function readOn(
  source: Source,
  before: Pages,
  signal: AbortSignal,
  show: (entries: readonly LogEntry[]) => void,
): Promise<Pages> {
  const cursors = [...before.cursors];
  const entries = before.entries.slice(0, (cursors.length - 1) * perPage);
  for (;;) {
    const cursor = cursors.at(-1);
    const page = await source.read({ per_page: perPage, ...(cursor && { cursor }) }, signal);
    entries.push(...page.data);
    if (page.meta.next_cursor === null) return { cursors, entries };
    cursors.push(page.meta.next_cursor);
    show([...entries]);
  }
}

/** Reads all lines of a log at once. */
export const readLog = async (read: (at: Parameters<Source["read"]>[0]) => ReturnType<Source["read"]>) => {
  const source = { id: "", path: "", read };
  const { signal } = new AbortController();
  return (await readOn(source, { cursors: [undefined], entries: [] }, signal, () => {})).entries;
};
