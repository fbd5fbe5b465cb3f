/** What changed around the service, where no record did: a new entry of the journal, the clock, an instrument. */
type Notice = "journal" | "instruments";

/** Tells open dashboards that something changed. It says nothing of records, which the change feed does. */
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
