import type { ServiceEvent } from "../events/change-feed.ts";

/** An endpoint's settings: `config` can be shown, `secrets` never. */
export interface Settings {
  readonly config: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, string>>;
}

/** The body of one delivery. `target` distinguishes the deliveries of one event to an endpoint that takes several. */
export interface Payload {
  readonly target: string;
  readonly body: string;
}

/** The name of a project of the event's organization, read in the transaction of the event; the identifier if it has none. */
export type ProjectName = (project_id: string) => Promise<string>;

/** How a type of endpoint receives events. */
export interface DeliveryFormat {
  /** The bodies of an event, written once: every attempt sends the same bytes. They hold no secret. */
  payloads(
    event: Omit<ServiceEvent, "event"> & { readonly event: string },
    config: Settings["config"],
    projectName: ProjectName,
  ): readonly Payload[] | Promise<readonly Payload[]>;
  /** The URL and the type's own headers, with the secrets as they are now. */
  request(
    payload: Payload,
    settings: Settings,
  ): { readonly url: string; readonly headers: Readonly<Record<string, string>> };
}

/** The headers of a delivery. Those that every delivery has come last, so that no format overwrites them. */
export const headersOf = (
  { event, id, tries }: { event: string; id: string; tries: number },
  agent: string,
  own: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> => ({
  ...own,
  "user-agent": agent,
  "content-type": "application/json",
  "x-service-event": event,
  "x-service-delivery": id,
  "x-service-attempt": String(tries),
});
