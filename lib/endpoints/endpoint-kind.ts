import type { ServiceEvent } from "../events/change-feed.ts";

/** What an endpoint is made of: `config` can be shown, `secrets` never. */
export interface Settings {
  readonly config: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, string>>;
}

/** What one delivery carries. `target` tells deliveries of one event apart, where an endpoint takes several. */
export interface Parcel {
  readonly target: string;
  readonly body: string;
}

/** How a type of endpoint is spoken to. */
export interface Kind {
  /** The bodies of an event, written once: every try sends the same bytes. No secret is in them. */
  parcels(
    event: Omit<ServiceEvent, "event"> & { readonly event: string },
    config: Settings["config"],
  ): readonly Parcel[];
  /** Where a parcel goes, and the headers of its own: with the secret of that moment. */
  address(
    parcel: Parcel,
    settings: Settings,
  ): { readonly url: string; readonly headers: Readonly<Record<string, string>> };
}

/** The headers of a delivery: those of every one are set last, so that nothing can overwrite them. */
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
