import { done, type Ended, onCall } from "./calls.ts";

/** What this tab did: a call, the identifiers that it named, and the one in its answer. */
interface Deed {
  readonly action: string;
  readonly given: readonly string[];
  readonly made: string | null;
}
const stored = "svc-deeds";
const mostKept = 200;

/** Newest first, and kept over a reload: identifiers only, because answers hold secrets. */
export const deeds = (): readonly Deed[] => JSON.parse(sessionStorage.getItem(stored) ?? "[]");

function keep({ call, answer, problem }: Ended): void {
  if (call.id === undefined || call.method === "GET" || problem !== undefined) return;
  const { id } = (answer ?? {}) as { id?: unknown };
  const deed = { action: call.id, given: Object.values(call.params), made: typeof id === "string" ? id : null };
  sessionStorage.setItem(stored, JSON.stringify([deed, ...deeds()].slice(0, mostKept)));
}

// This file loads with the first move, undo or instrument of a tab: what the tab did before counts too.
for (const one of done.value.toReversed()) keep(one);
onCall(keep);
