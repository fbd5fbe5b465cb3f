import type { Snapshots } from "../control/calls.ts";
import type { Hosts } from "../http/hosts.ts";
import type { Listening } from "../http/server.ts";
import type { Sinks } from "../instruments/sinks.ts";

/** What a service keeps through all its states: its ports, the hosts that it answers to, its sinks, its snapshots. */
export interface HostContext {
  readonly listening: Listening[];
  readonly hosts: Hosts;
  readonly sinks: Sinks;
  readonly snapshots: Snapshots;
  /** The time on the current state's clock. */
  iso(): string;
}
