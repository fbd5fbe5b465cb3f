import { isLogged } from "../kernel/errors.ts";
import { type Log, reasonOf } from "../kernel/log.ts";
import type { Store } from "../store/store.ts";
import type { Row } from "../store/tables.ts";
import { eventsBatch, eventsRepository } from "./repository.ts";

export interface EventReader {
  /** Publishes what has come since. */
  read(): void;
  /** An event of this process was committed, directly after the event `before`. Calls `publish` now if that was the last one. */
  committed(id: string, before: string, publish: () => void): void;
  /** The events from now on. */
  begin(): Promise<void>;
}

/**
 * Publishes the events of all processes from their rows, in the order of their identifiers. That is the order of their
 * commits, so none comes after a later one, however the hints arrive.
 */
export function createEventReader(ports: {
  readonly store: Store;
  readonly log: Log;
  readonly publish: (row: Row<"events">) => void;
}): EventReader {
  const { store, log, publish } = ports;
  const events = store.using(eventsRepository);
  let last: string | undefined;
  let isReading = false;
  let isAskedAgain = false;

  const readAll = async () => {
    do {
      isAskedAgain = false;
      for (let isMore = true; isMore; ) {
        const rows = await events().after({ id: last ?? "" });
        isMore = rows.length === eventsBatch;
        for (const row of rows) {
          last = row.id;
          publish(row);
        }
      }
    } while (isAskedAgain);
  };

  const read = () => {
    isAskedAgain = true;
    // Before the beginning there are no listeners.
    if (isReading || last === undefined) return;
    isReading = true;
    readAll()
      // The next hint, or the next connection to the database, reads them.
      .catch((error) => {
        if (!isLogged(error) && !store.retired) log.warn("events could not be read", { reason: reasonOf(error) });
      })
      .finally(() => {
        isReading = false;
      });
  };

  return {
    read,
    committed(id, before, publish) {
      // A reading that has begun brings this one too.
      if (isReading || before !== last) return read();
      last = id;
      publish();
    },
    async begin() {
      last = (await events().newest({}))?.id ?? "";
    },
  };
}
