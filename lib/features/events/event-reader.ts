import { systemTimer } from "../../kernel/clock.ts";
import { isLogged } from "../../kernel/errors.ts";
import { type Log, reasonOf } from "../../kernel/log.ts";
import type { Store } from "../../store/store.ts";
import type { Row } from "../../store/tables.ts";
import { eventsBatch, eventsRepository, organizationsBatch } from "./repository.ts";

/** Publishes the events of all processes in the order of their commits, however the hints arrive. */
export function createEventReader(ports: {
  readonly store: Store;
  readonly log: Log;
  readonly publish: (row: Row<"events">) => void;
}) {
  const { store, log, publish } = ports;
  const events = store.using(eventsRepository);
  /** The newest published event of each organization. Undefined before `begin`: there are no listeners yet. */
  let last: Map<string, string> | undefined;
  /** Organizations that may have newer events. */
  const asked = new Set<string>();
  let isReading = false;
  let cancelRetry = () => {};

  const readOnce = async (from: Map<string, string>) => {
    const organizations = [...asked].slice(0, organizationsBatch);
    for (const id of organizations) asked.delete(id);
    const places = Array.from({ length: organizationsBatch }, (_, i) => {
      const id = organizations[i] ?? "";
      return { [`organization${i}`]: id, [`id${i}`]: from.get(id) ?? "" };
    });
    const rows = await events()
      .after(Object.assign({}, ...places))
      .catch((error) => {
        for (const id of organizations) asked.add(id);
        throw error;
      });
    for (const row of rows.sort((one, other) => (one.id < other.id ? -1 : 1))) {
      from.set(row.organization_id, row.id);
      // The read may have left events of this organization behind.
      if (rows.length >= eventsBatch) asked.add(row.organization_id);
      publish(row);
    }
  };

  const readAsked = async (from: Map<string, string>) => {
    isReading = true;
    try {
      while (asked.size > 0) await readOnce(from);
    } finally {
      isReading = false;
    }
  };

  const run = (work: (from: Map<string, string>) => Promise<void>) => {
    if (!last) return;
    work(last).catch((error) => {
      if (store.ended) return;
      if (!isLogged(error)) log.warn("events could not be read", { reason: reasonOf(error) });
      // Read connections may recover later than the message connection.
      cancelRetry();
      cancelRetry = systemTimer("1s", readAll);
    });
  };

  const start = () => {
    if (isReading) return;
    run(readAsked);
  };

  const read = (organization_id: string) => {
    asked.add(organization_id);
    start();
  };

  const readAll = () => {
    run(async (from) => {
      for (const { organization_id, id } of await events().newest({}))
        if (id !== null && id > (from.get(organization_id) ?? "")) asked.add(organization_id);
      start();
    });
  };

  return {
    read,
    readAll,
    /** Publishes an event that was committed here after `before`. If `before` is not published yet, reads the rows. */
    committed(
      { organization_id, id }: Pick<Row<"events">, "organization_id" | "id">,
      before: string,
      publish: () => void,
    ) {
      // Joins the read in progress, which includes this event.
      if (isReading || before !== (last?.get(organization_id) ?? "")) return read(organization_id);
      last?.set(organization_id, id);
      publish();
    },
    /** Starts publishing, with the events from now on. */
    async begin() {
      last = new Map((await events().newest({})).map(({ organization_id, id }) => [organization_id, id ?? ""]));
      start();
    },
  };
}
