import type { Snapshots } from "../control/calls.ts";
import type { Hosts } from "../http/hosts.ts";
import type { Listening } from "../http/server.ts";
import type { Sinks } from "../instruments/sinks.ts";

import type { Runtimes } from "./runtimes.ts";

/** State that survives restores: the ports, the accepted hosts, the sinks and the snapshots of a service. */
export interface HostContext {
  readonly listening: Listening[];
  readonly hosts: Hosts;
  /** Whether the options say how other machines reach it: a public URL, or a proxy in front. */
  readonly mayBeReached: boolean;
  readonly sinks: Sinks;
  readonly snapshots: Snapshots;
  readonly runtimes: Runtimes;
  /** The time on the current state's clock. */
  iso(): string;
}
