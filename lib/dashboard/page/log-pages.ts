import type { LogEntry } from "../../client/records.ts";
import { api } from "./api.ts";

const perPage = 1000;

export interface Pages {
  /** The cursor of each page that was read. The last one is read again as the log grows. */
  readonly cursors: (string | undefined)[];
  entries: LogEntry[];
}

/** What has a log: how a page of it is read, and where its lines are linked. */
export interface Source {
  /** It names the log, also in the changes that tell of new lines. */
  readonly id: string;
  /** The path of its page. */
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

/** All lines of a log: whole pages are read once, the last one whenever the log has grown. */
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

/** All lines of a log at once. */
export const readLog = async (read: (at: Parameters<Source["read"]>[0]) => ReturnType<Source["read"]>) => {
  const source = { id: "", path: "", read };
  const { signal } = new AbortController();
  return (await readOn(source, { cursors: [undefined], entries: [] }, signal, () => {})).entries;
};
