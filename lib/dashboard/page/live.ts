import { effect, signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { ClientProblem } from "../../client/problem.ts";
import { loadSession, person, session } from "./api.ts";

/** A message of `/dashboard/live`: what has changed, never to what. */
export interface Hint {
  readonly kind: string;
  readonly id?: string;
  readonly event?: string;
  /** The program of the page that the service serves now: of `hello`. */
  readonly program?: string;
  readonly now: string;
}

/** Whether the page hears of changes as they happen. */
export const isLive = signal(false);
/** Since when nothing was heard, once that is longer than a reconnection takes. */
export const lostAt = signal<Date | undefined>(undefined);
/** Whether the service was upgraded since this tab was loaded. */
export const isOld = signal(false);
const patience_ms = 1000;
let patience: ReturnType<typeof setTimeout> | undefined;

const lose = (): void => {
  isLive.value = false;
  const at = new Date();
  patience ??= setTimeout(() => {
    lostAt.value = at;
  }, patience_ms);
};
const hearAgain = (program: string | undefined): void => {
  clearTimeout(patience);
  patience = undefined;
  lostAt.value = undefined;
  isLive.value = true;
  const own = document.querySelector<HTMLScriptElement>("script[type=module]")?.src ?? "";
  isOld.value = program !== undefined && !own.endsWith(`/${program}`);
};

/** The service's time, as the last message told it, and when that was. */
export const serviceTime = signal<{ readonly now: number; readonly heard: number } | undefined>(undefined);

export const hearTime = (now: string): void => {
  serviceTime.value = { now: Date.parse(now), heard: performance.now() };
};

const listeners = new Set<(hint: Hint) => void>();
/** Says to what is shown that something changed. */
export const tell = (hint: Hint): void => {
  for (const listener of listeners) listener(hint);
};

/** Everything may have changed: after a write of this page, or after a time without a connection. */
export const tellAll = (): void => tell({ kind: "all", now: "" });

let socket: WebSocket | undefined;
let wait = 250;

function connect(): void {
  const query = person.value === null ? "" : `?person=${encodeURIComponent(person.value)}`;
  const made = new WebSocket(`${location.origin.replace(/^http/, "ws")}/dashboard/live${query}`);
  socket = made;
  made.addEventListener("message", ({ data }) => {
    const hint = JSON.parse(String(data)) as Hint;
    hearTime(hint.now);
    if (hint.kind !== "hello") return tell(hint);
    wait = 250;
    hearAgain(hint.program);
    // Whatever was missed is read anew, so nothing appears twice.
    tellAll();
  });
  made.addEventListener("close", () => {
    if (socket !== made) return;
    lose();
    socket = undefined;
    wait = Math.min(wait * 2, 4000);
    setTimeout(reconnect, wait);
  });
}

/** The session may have ended meanwhile, which a browser does not tell of a socket that is refused. */
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
 * At most one reading at a time, and one more after it. The first begins almost at once, after the hints of the same commit;
 * between the starts of two lies a pause.
 */
const pause_ms = 60;
const gathering_ms = 4;

/**
 * Reads a record or a list, and reads it again whenever a change says so. `key` names what is read; the data of another
 * key is never shown for it.
 */
export function useRead<T>(key: string, read: (signal: AbortSignal) => Promise<T>, concerns: (hint: Hint) => boolean) {
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
        // What was read before stays while the service cannot be reached, and goes with the record.
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
    const listener = (hint: Hint) => {
      if (hint.kind === "all" || concerns(hint)) soon();
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
