import { signal } from "@preact/signals";
import type { RecordedCall } from "./recorded-call.ts";

/** How a call ended: with its response, or with the code of a problem. */
export interface Ended {
  readonly call: RecordedCall;
  readonly answer: unknown;
  readonly problem: string | undefined;
}

/** The reads that the current screen shows. */
export const shown = signal<readonly Ended[]>([]);
/** The writes of this tab, newest first. */
export const done = signal<readonly Ended[]>([]);
const mostDone = 30;

type Listener = (ended: Ended) => void;
const listeners = new Set<Listener>();
/** Listens to every call of this tab. Returns a function that stops listening. */
export function onCall(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** All pages of one list count as one read. */
const keyOf = ({ method, path, query }: RecordedCall) =>
  `${method} ${path.split("?", 1)[0]} ${new URLSearchParams({ ...query, cursor: "" })}`;
const owners = new Map<string, AbortSignal | undefined>();

function forget(key: string, owner: AbortSignal | undefined): void {
  if (owners.get(key) !== owner) return;
  owners.delete(key);
  shown.value = shown.value.filter(({ call }) => keyOf(call) !== key);
}

/** Drops the reads without an owner: they belong to the page that was left. */
export function forgetPage(): void {
  for (const [key, owner] of owners) if (!owner) forget(key, owner);
}

/** Records how a call ended. A read stays listed until its owner is gone: the part of the page that shows its data. */
export function note(ended: Ended, owner: AbortSignal | undefined): void {
  for (const listener of listeners) listener(ended);
  if (ended.call.method !== "GET") {
    done.value = [ended, ...done.value].slice(0, mostDone);
    return;
  }
  const key = keyOf(ended.call);
  if (owner?.aborted) return;
  if (owners.get(key) !== owner || !owners.has(key)) owner?.addEventListener("abort", () => forget(key, owner));
  const isNew = !owners.has(key);
  owners.set(key, owner);
  const isFurther = ended.call.query["cursor"] !== undefined;
  if (isNew) shown.value = [...shown.value, ended];
  else if (!isFurther) shown.value = shown.value.map((one) => (keyOf(one.call) === key ? ended : one));
}
