import type { Queue } from "../jobs/queue.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Ids } from "../kernel/ids.ts";
import type { Log } from "../kernel/log.ts";
import type { Random } from "../kernel/random.ts";
import type { Encryption } from "../store/encryption.ts";
import type { Store } from "../store/store.ts";
import type { Bus } from "./events/bus.ts";
import type { ChangeFeed } from "./events/change-feed.ts";
import type { Waiting } from "./events/wait-for-change.ts";

/** The parts that features are built on. Each feature names those that it needs. */
export interface Core {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly random: Random;
  readonly log: Log;
  readonly encryption: Encryption;
  readonly queue: Queue;
  readonly feed: ChangeFeed;
  readonly bus: Bus;
  readonly waiting: Waiting;
  /** The address of the service: `https://svc.example.com`. */
  readonly origin: () => string;
}
