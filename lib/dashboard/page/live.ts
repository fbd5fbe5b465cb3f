import { effect, signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { ClientProblem } from "../../client/problem.ts";
import type { Answer, Input, OperationId } from "../../client/typed-client.ts";
import { api, loadSession, person, session } from "./api.ts";
import { base } from "./router.ts";

/** A message of `/dashboard/live`: says what has changed, but not the new values. */
export interface Change {
  readonly kind: string;
  readonly id?: string;
  readonly event?: string;
  /** In `hello`: the file name of the page's program that the service serves now. */
  readonly program?: string;
  readonly now: string;
}

/** Whether the live socket is open. */
export const isLive = signal(false);
/** Since when the live socket is closed. Set only once this takes longer than a usual reconnection. */
export const lostAt = signal<Date | undefined>(undefined);
/** Whether the service was upgraded since this tab loaded. */
export const isOld = signal(false);
const grace_ms = 1000;
let lostTimer: ReturnType<typeof setTimeout> | undefined;

const disconnected = (): void => {
  isLive.value = false;
  const at = new Date();
  lostTimer ??= setTimeout(() => {
    lostAt.value = at;
  }, grace_ms);
};
const connected = (program: string | undefined): void => {
  clearTimeout(lostTimer);
  lostTimer = undefined;
  lostAt.value = undefined;
  isLive.value = true;
  const own = document.querySelector<HTMLScriptElement>("script[type=module]")?.src ?? "";
  isOld.value = program !== undefined && !own.endsWith(`/${program}`);
};

/** The service's time in the last message, and when the message arrived. */
export const serviceTime = signal<{ readonly now: number; readonly received: number } | undefined>(undefined);

export const setServiceTime = (now: string): void => {
  serviceTime.value = { now: Date.parse(now), received: performance.now() };
};

/** The seconds of the service in one second of this machine: 0 while its clock stands. */
export const speed = signal(1);
const beat = signal(0);

/** The service's time; before the first message, this machine's. What shows it follows it, every second. */
export function serviceNow(): number {
  void beat.value;
  const last = serviceTime.value;
  return last ? last.now + (performance.now() - last.received) * speed.value : Date.now();
}

const listeners = new Set<(change: Change) => void>();
/** Makes every read that the change concerns run again. */
export const publish = (change: Change): void => {
  for (const listener of listeners) listener(change);
};

/** Reads everything again: after a write of this page, or after a time without a connection. */
export const refreshAll = (): void => publish({ kind: "all", now: "" });

let socket: WebSocket | undefined;
let wait = 250;

function connect(): void {
  const query = person.value === null ? "" : `?person=${encodeURIComponent(person.value)}`;
  const made = new WebSocket(`${location.origin.replace(/^http/, "ws")}${base}/dashboard/live${query}`);
  socket = made;
  made.addEventListener("message", ({ data }) => {
    const change = JSON.parse(String(data)) as Change;
    setServiceTime(change.now);
    if (change.kind !== "hello") return publish(change);
    wait = 250;
    connected(change.program);
    // Reads replace the data, so nothing appears twice.
    refreshAll();
  });
  made.addEventListener("close", () => {
    if (socket !== made) return;
    disconnected();
    socket = undefined;
    wait = Math.min(wait * 2, 4000);
    setTimeout(reconnect, wait);
  });
}

/** Checks the session first, because browsers do not say why a socket was refused. */
async function reconnect(): Promise<void> {
  await loadSession().catch(() => {});
  if (!socket && session.value) connect();
}

/** Keeps one socket open while a person is signed in. A change of the person opens a new one. */
export function keepConnected(): void {
  setInterval(() => {
    if (speed.value > 0 && !document.hidden) beat.value += 1;
  }, 1000);
  effect(() => {
    const who = session.value ? `${session.value.user_id} ${person.value}` : undefined;
    const before = socket;
    socket = undefined;
    before?.close();
    isLive.value = false;
    if (who !== undefined) connect();
  });
}

/** Publishes a change of this kind again and again, for what no message tells of. Without an interval, it rests. */
export function usePoll(kind: string, interval_ms: number | undefined): void {
  useEffect(() => {
    if (interval_ms === undefined) return;
    const timer = setInterval(() => publish({ kind, now: "" }), interval_ms);
    return () => clearInterval(timer);
  }, [kind, interval_ms]);
}

export interface Read<T> {
  readonly data: T | undefined;
  readonly error: unknown;
}

/**
 * At most one read runs, and at most one more is pending. A read waits for the hints of the same commit first, and
 * starts are at least this far apart.
 */
const pause_ms = 60;
/** When a read is tried again that did not reach a service whose socket is open. */
const retry_ms = 1000;
const gathering_ms = 4;

/**
 * Reads a record or a list, and reads it again after each change that concerns it. `key` identifies the read: data of
 * another key is never shown.
 */
export function useRead<T>(
  key: string,
  read: (signal: AbortSignal) => Promise<T>,
  concerns: (change: Change) => boolean,
) {
  const [state, set] = useState<Read<T> & { readonly key: string }>({ key, data: undefined, error: undefined });
  useEffect(() => {
    const control = new AbortController();
    let isReading = false;
    let again = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let begun = -pause_ms;
    const run = async () => {
      if (isReading) {
        again = true;
        return;
      }
      isReading = true;
      again = false;
      let pause = pause_ms;
      begun = performance.now();
      try {
        const data = await read(control.signal);
        if (!control.signal.aborted) set({ key, data, error: undefined });
      } catch (error) {
        // While the service is unreachable, the last data stay on the screen. The data of a deleted record go.
        const isGone = error instanceof ClientProblem && error.status === 404;
        // A new socket repeats all reads. An open one says nothing of a read that a change of networks ended.
        if (error instanceof ClientProblem && error.code === "unreachable" && isLive.value) {
          again = true;
          pause = retry_ms;
        }
        if (!control.signal.aborted)
          set((before) => ({ key, data: before.key === key && !isGone ? before.data : undefined, error }));
      }
      isReading = false;
      if (again && !control.signal.aborted) soon(pause);
    };
    const soon = (pause = pause_ms) => {
      const wait = Math.max(gathering_ms, begun + pause - performance.now());
      timer ??= setTimeout(() => {
        timer = undefined;
        void run();
      }, wait);
    };
    const listener = (change: Change) => {
      if (change.kind === "all" || concerns(change)) soon();
    };
    listeners.add(listener);
    void run();
    return () => {
      control.abort();
      clearTimeout(timer);
      listeners.delete(listener);
    };
  }, [key]);
  return state.key === key ? state : { key, data: undefined, error: undefined };
}

/** Whether a change is one of these: kinds, names of events or their beginning such as `project.`, and identifiers. */
export const isOneOf =
  (words: string) =>
  ({ kind, id, event = "" }: Change): boolean =>
    words
      .split(" ")
      .some((word) => word === kind || word === id || (word.endsWith(".") ? event.startsWith(word) : word === event));

/** Reads by an operation of `/v1`, and again after these changes. */
export const useCall = <Id extends OperationId>(id: Id, input: Input<Id>, changes: string): Read<Answer<Id>> =>
  useRead(
    `${id} ${JSON.stringify(input)}`,
    (signal) => api.call(id, { ...input }, { signal }) as Promise<Answer<Id>>,
    isOneOf(changes),
  );
