import type { Ended } from "../calls.ts";
import type { Kept } from "./kept-recording.ts";
import { identifiersIn, isRecord } from "./recorded-names.ts";
import type { Step } from "./recorded-test.ts";

/** Remembers the records in answers, and those from before the recording that its steps refer to. */
export function createSeen(steps: readonly Step[], kept: Pick<Kept, "seen" | "known" | "environments"> = {}) {
  const seen = new Map(kept.seen);
  const known = new Map(kept.known);
  /** By project, as last read. */
  const environments = new Map(kept.environments);

  const keep = (id: string): void => {
    const found = seen.get(id);
    if (!found || known.has(id) || steps.some(({ answer }) => isRecord(answer) && answer["id"] === id)) return;
    const own = environments.get(id);
    known.set(id, { ...found, ...(own && { environments: own }) });
    for (const one of identifiersIn(found.record)) if (one !== id) keep(one);
  };

  return {
    seen,
    known,
    environments,
    keep,
    see({ call, answer }: Pick<Ended, "call" | "answer">): void {
      if (!isRecord(answer)) return;
      const { data } = answer;
      const all: readonly unknown[] = Array.isArray(data) ? data : [answer];
      if (call.id === "environments.list") environments.set(call.params["id"] ?? "", all.filter(isRecord));
      all.forEach((record, index) => {
        if (!isRecord(record) || typeof record["id"] !== "string") return;
        const before = seen.get(record["id"]);
        const list = Array.isArray(data) && call.id !== undefined ? { call, index } : before?.list;
        seen.set(record["id"], { record: { ...before?.record, ...record }, list });
      });
    },
  };
}
