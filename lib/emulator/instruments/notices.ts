/** A change that no record shows: a new journal entry, the clock or an instrument. */
type Notice = "journal" | "instruments";

export type Notices = ReturnType<typeof createNotices>;

/** Notifies open dashboards of changes that no record shows. The change feed covers records. */
export function createNotices() {
  const listeners = new Set<(notice: Notice) => void>();
  return {
    tell(notice: Notice): void {
      for (const listener of listeners) listener(notice);
    },
    /** Returns the function that stops listening. */
    listen(listener: (notice: Notice) => void): () => void {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
