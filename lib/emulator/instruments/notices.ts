/** A change that no record shows: a new journal entry, the clock or an instrument. */
type Notice = "journal" | "instruments";

/** Notifies open dashboards of such a change. The change feed covers records. */
export interface Notices {
  tell(notice: Notice): void;
  /** Returns the function that stops listening. */
  listen(listener: (notice: Notice) => void): () => void;
}

export function createNotices(): Notices {
  const listeners = new Set<(notice: Notice) => void>();
  return {
    tell(notice) {
      for (const listener of listeners) listener(notice);
    },
    listen(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
