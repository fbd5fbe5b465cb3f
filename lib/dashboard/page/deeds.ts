import { onCall } from "./calls.ts";

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

/** Notes the changes of this tab from now on. */
export const noteDeeds = (): unknown =>
  onCall(({ call, answer, problem }) => {
    if (call.id === undefined || call.method === "GET" || problem !== undefined) return;
    const { id } = (answer ?? {}) as { id?: unknown };
    const deed = { action: call.id, given: Object.values(call.params), made: typeof id === "string" ? id : null };
    sessionStorage.setItem(stored, JSON.stringify([deed, ...deeds()].slice(0, mostKept)));
  });
