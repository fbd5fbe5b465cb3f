import type { Snapshots } from "../control/state-calls.ts";
import type { Hosts } from "../http/hosts.ts";
import type { Listening } from "../http/server.ts";
import type { DeliveryOrder, EveryOrder } from "../instruments/delivery-orders.ts";
import type { Sinks } from "../instruments/sinks.ts";

import type { Forks } from "./forks.ts";
import type { Preview, PreviewTarget } from "./preview.ts";
import type { Runtimes } from "./runtimes.ts";
import type { Worlds } from "./worlds.ts";

/** State that survives restores: the ports, the accepted hosts, the sinks and the snapshots of a service. */
export interface InstanceContext {
  readonly listening: Listening[];
  readonly hosts: Hosts;
  /** Whether the options tell how other machines reach it: a public URL, a proxy in front, or a trusted network. */
  readonly mayBeReached: boolean;
  readonly sinks: Sinks;
  readonly snapshots: Snapshots;
  /** The forks that the control interface made. */
  readonly forks: Forks;
  /** A world uses those of the service that it belongs to. */
  readonly worlds: Worlds;
  readonly isWorld: boolean;
  preview(target: PreviewTarget): Promise<Preview>;
  deliverInEveryOrder(of: EveryOrder): Promise<DeliveryOrder[]>;
  /** A fork that sends nothing. */
  readonly isMuted: boolean;
  readonly runtimes: Runtimes;
  /** The time on the current state's clock. */
  iso(): string;
}
