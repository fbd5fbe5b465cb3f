import type { ServiceEvent } from "../events/change-feed.ts";

/** An endpoint's settings: `config` can be shown, `secrets` never. */
export interface Settings {
  readonly config: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, string>>;
}

/** The body of one delivery. `target` distinguishes an event's deliveries if the endpoint receives several. */
export interface Payload {
  readonly target: string;
  readonly body: string;
}

/** Looks up the name of a project, in the event's transaction. Returns the identifier if there is no name. */
export type ProjectName = (project_id: string) => Promise<string>;

export interface DeliveryFormat {
  /** The bodies of an event. They are stored once, so every attempt sends the same bytes. They contain no secrets. */
  payloads(
    event: Omit<ServiceEvent, "event"> & { readonly event: string },
    config: Settings["config"],
    projectName: ProjectName,
  ): readonly Payload[] | Promise<readonly Payload[]>;
  /** The URL and the type's own headers, with the current secrets. */
  request(
    payload: Payload,
    settings: Settings,
  ): { readonly url: string; readonly headers: Readonly<Record<string, string>> };
}
