/** A change that is not in a record: a new journal entry, the clock, an instrument. */
type Notice = "journal" | "instruments";

/** Tells open dashboards about such a change. The change feed tells them about records. */
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
