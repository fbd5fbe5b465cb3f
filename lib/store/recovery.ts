import { systemTimer } from "../kernel/clock.ts";
import { Damage, isDamage } from "./database-error.ts";
import type { Reserve } from "./disk-reserve.ts";
import { type Obstacle, obstacleOf } from "./write-failure.ts";

/** The events of a store that its operator has to know. */
export interface Watcher {
  /** Called when writes stop, and without an obstacle when they go on. */
  writes(obstacle: Obstacle | undefined, error?: unknown): void;
  /** Called when the write-ahead log has become large behind a reader, and when it is small again. */
  log(bytes: number, isLarge: boolean): void;
}

/** Whether a store can be written, and how it recovers from an error of the disk. */
export interface Recovery {
  readonly obstacle: Obstacle | undefined;
  /** Records an error; returns the reason why writes stop, if they do. */
  note(error: unknown): Obstacle | undefined;
  watch(watcher: Watcher): void;
  /** The start is complete: takes the reserve. Answers whether there is room for it. */
  started(): boolean;
  /** Called when the file is closed for good. */
  end(): void;
}

interface Ports {
  readonly path: string;
  readonly reserve: Reserve;
  readonly usedReserve: boolean;
  /** Closes the file, opens it anew and checks it. Rejects where it cannot be used. */
  readonly reopen: () => Promise<void>;
  /** Writes, and so shows that the disk takes writes. Rejects otherwise. */
  readonly tryWriting: () => Promise<void>;
}

/**
 * An error of the disk stops all writes until one succeeds. On a full disk, the reserve is given back to it, for
 * deletes, and writes go on once there is room for the reserve again. After any other error, the connection is not
 * trusted any more: a failed sync may have lost pages that it treats as written.
 */
export function createRecovery({ path, reserve, usedReserve, reopen, tryWriting }: Ports): Recovery {
  let obstacle: Obstacle | undefined;
  let watcher: Watcher | undefined;
  let cancelTimer = () => {};
  let cancelRefill = () => {};
  let ended = false;

  const enter = (found: Obstacle, error: unknown) => {
    if (found === obstacle) return;
    obstacle = found;
    watcher?.writes(found, error);
    if (found === "disk_full") reserve.release();
    // Only the operator can mend a damaged file.
    if (found !== "damaged") retryLater();
  };
  const note = (error: unknown) => {
    const found = obstacleOf(error, path);
    if (found) enter(found, error);
    return found;
  };
  const retryLater = () => {
    cancelTimer();
    if (!ended) cancelTimer = systemTimer("1s", () => void recover());
  };
  /** The reserve grows once there is room for it. While writes are stopped, the recovery refills it. */
  const refillLater = () => {
    cancelRefill = systemTimer("60s", () => {
      try {
        if (obstacle === undefined && reserve.refill()) return;
      } catch {
        // The disk is temporarily gone.
      }
      refillLater();
    });
  };
  const recover = async () => {
    try {
      if (obstacle !== "disk_full") await reopen();
      if (ended) return;
      if (reserve.refill() || obstacle !== "disk_full") {
        await tryWriting();
        obstacle = undefined;
        watcher?.writes(undefined);
        return;
      }
    } catch (error) {
      if (error instanceof Damage || isDamage(error)) enter("damaged", error);
      else note(error);
    }
    if (obstacle !== "damaged") retryLater();
  };

  return {
    get obstacle() {
      return obstacle;
    },
    note,
    watch(given) {
      watcher = given;
    },
    started() {
      const hasReserve = reserve.refill();
      if (!hasReserve && usedReserve) enter("disk_full", "the reserve was needed to start");
      else if (!hasReserve) refillLater();
      return hasReserve || usedReserve;
    },
    end() {
      ended = true;
      cancelTimer();
      cancelRefill();
      if (obstacle === "disk_full") reserve.keepRest();
    },
  };
}
