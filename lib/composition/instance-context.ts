import type { Settings } from "../config/parse-options.ts";
import type { Samples } from "../dashboard/process-history.ts";
import type { Snapshots } from "../emulator/control/state-calls.ts";
import type { Forks } from "../emulator/fork-list.ts";
import type { DeliveryOrder, EveryOrder } from "../emulator/instruments/delivery-orders.ts";
import type { Sinks } from "../emulator/instruments/sinks.ts";
import type { Preview, PreviewTarget } from "../emulator/preview.ts";
import type { Worlds } from "../emulator/worlds.ts";
import type { Hosts } from "../http/hosts.ts";
import type { RecentRequests } from "../http/recent-requests.ts";
import type { Listening } from "../http/server.ts";
import type { CodeCompany } from "./company.ts";
import type { Mount } from "./mount.ts";
import type { Runtimes } from "./runtimes.ts";

/** State of a service that survives restores: ports, accepted hosts, sinks and snapshots. */
export interface InstanceContext {
  readonly listening: Listening[];
  readonly hosts: Hosts;
  /** Whether the options say how other machines reach the service: a public URL, a proxy, or a trusted network. */
  readonly mayBeReached: boolean;
  readonly sinks: Sinks;
  readonly mount: Mount;
  readonly company: CodeCompany;
  readonly requests: RecentRequests;
  readonly samples: Samples;
  /** The service's time when it started, and what that start found wrong with the clock. */
  started(): { readonly at: string; readonly warning: string | undefined };
  readonly snapshots: Snapshots;
  readonly forks: Forks;
  /** A world uses the worlds of the service that it belongs to. */
  readonly worlds: Worlds;
  readonly isWorld: boolean;
  preview(target: PreviewTarget): Promise<Preview>;
  deliverInEveryOrder(of: EveryOrder): Promise<DeliveryOrder[]>;
  /** Whether this is a muted fork, which sends nothing. */
  readonly isMuted: boolean;
  readonly runtimes: Runtimes;
  iso(): string;
}

/** The settings of a muted fork: no user callbacks, no logging. */
export const mutedSettings = (settings: Settings): Settings => ({
  ...settings,
  transport: undefined,
  logger: undefined,
  logLevel: "silent",
  tracing: false,
  deployments: { ...settings.deployments, driver: undefined },
  generations: { ...settings.generations, driver: undefined, backends: {}, media: "fast" },
});
