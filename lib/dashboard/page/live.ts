import { effect, signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { ClientProblem } from "../../client/problem.ts";
import { loadSession, person, session } from "./api.ts";

/** A message of `/dashboard/live`: what has changed, never to what. */
export interface Change {
  readonly kind: string;
  readonly id?: string;
  readonly event?: string;
  /** The program of the page that the service serves now: of `hello`. */
  readonly program?: string;
  readonly now: string;
}

/** Whether the live socket is open. */
export const isLive = signal(false);
/** Since when the live socket is closed, once that is longer than a reconnection takes. */
export const lostAt = signal<Date | undefined>(undefined);
/** Whether the service was upgraded since this tab was loaded. */
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

/** The service's time in the last message, and when that was received. */
export const serviceTime = signal<{ readonly now: number; readonly received: number } | undefined>(undefined);

export const setServiceTime = (now: string): void => {
  serviceTime.value = { now: Date.parse(now), received: performance.now() };
};

/** The service's time; this machine's until the first message. */
export const serviceNow = (): number => serviceTime.value?.now ?? Date.now();

const listeners = new Set<(change: Change) => void>();
/** Reads everything again that a change concerns. */
export const publish = (change: Change): void => {
  for (const listener of listeners) listener(change);
};

/** Everything may have changed: after a write of this page, or after a time without a connection. */
export const refreshAll = (): void => publish({ kind: "all", now: "" });

let socket: WebSocket | undefined;
let wait = 250;

function connect(): void {
  const query = person.value === null ? "" : `?person=${encodeURIComponent(person.value)}`;
  const made = new WebSocket(`${location.origin.replace(/^http/, "ws")}/dashboard/live${query}`);
  socket = made;
  made.addEventListener("message", ({ data }) => {
    const change = JSON.parse(String(data)) as Change;
    setServiceTime(change.now);
    if (change.kind !== "hello") return publish(change);
    wait = 250;
    connected(change.program);
    // Everything is read again, so nothing appears twice.
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

/** The session may have ended: a browser does not tell why a socket was refused. */
async function reconnect(): Promise<void> {
  await loadSession().catch(() => {});
  if (!socket && session.value) connect();
}

/** One socket while somebody is signed in; another person gets another one. */
export function keepConnected(): void {
  effect(() => {
    const who = session.value ? `${session.value.user_id} ${person.value}` : undefined;
    const before = socket;
    socket = undefined;
    before?.close();
    isLive.value = false;
    if (who !== undefined) connect();
  });
}

export interface Read<T> {
  readonly data: T | undefined;
  readonly error: unknown;
}

/**
 * At most one read at a time, and one more after it. The first begins almost at once, after the hints of the same
 * commit; between two starts is a pause.
 */
const pause_ms = 60;
const gathering_ms = 4;

/**
 * Reads a record or a list, and reads it again after each change of it. `key` names the read; the data of another key
 * is never shown for it.
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
      begun = performance.now();
      try {
        const data = await read(control.signal);
        if (!control.signal.aborted) set({ key, data, error: undefined });
      } catch (error) {
        // While the service is unreachable, the last data stay on the screen. A deleted record takes them along.
        const isGone = error instanceof ClientProblem && error.status === 404;
        if (!control.signal.aborted)
          set((before) => ({ key, data: before.key === key && !isGone ? before.data : undefined, error }));
      }
      isReading = false;
      if (again && !control.signal.aborted) soon();
    };
    const soon = () => {
      const wait = Math.max(gathering_ms, begun + pause_ms - performance.now());
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
