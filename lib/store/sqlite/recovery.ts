import { systemTimer } from "../../kernel/clock.ts";
import { Damage, isDamage } from "../database-error.ts";
import { type Obstacle, obstacleOf, type Watcher } from "../write-failure.ts";
import type { Reserve } from "./disk-reserve.ts";

export type Recovery = ReturnType<typeof createRecovery>;

interface Ports {
  readonly path: string;
  readonly reserve: Reserve;
  readonly usedReserve: boolean;
  /** Opens the file anew, closes the old connection, and checks the tables. Rejects if the file cannot be used. */
  readonly reopen: () => Promise<void>;
  /** Makes a test write. Rejects if it fails. */
  readonly tryWriting: () => Promise<void>;
}

/**
 * Whether a store can write. A disk error stops all writes until a test write succeeds. On a full disk, the reserve is
 * released for deletes; writes resume once there is room for the reserve again. After any other error the file is
 * reopened, because a failed sync may have lost pages that the old connection treats as written.
 */
export function createRecovery({ path, reserve, usedReserve, reopen, tryWriting }: Ports) {
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
    // Only the operator can repair a damaged file.
    if (found !== "damaged") retryLater();
  };
  /** Records an error. Returns the obstacle if the error stops writes. */
  const note = (error: unknown): Obstacle | undefined => {
    const found = obstacleOf(error, path);
    if (found) enter(found, error);
    return found;
  };
  const retryLater = () => {
    cancelTimer();
    if (!ended) cancelTimer = systemTimer("1s", () => void recover());
  };
  /** Refills the reserve once there is room. While writes are stopped, `recover` does this. */
  const refillLater = () => {
    cancelRefill = systemTimer("60s", () => {
      try {
        if (obstacle === undefined && reserve.refill()) return;
      } catch {
        // The disk is temporarily unavailable.
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
    get obstacle(): Obstacle | undefined {
      return obstacle;
    },
    note,
    watch(given: Watcher): void {
      watcher = given;
    },
    /** Refills the reserve after the start. Returns false if that fails without reporting `disk_full`. */
    started(): boolean {
      const hasReserve = reserve.refill();
      if (!hasReserve && usedReserve) enter("disk_full", "the reserve was needed to start");
      else if (!hasReserve) refillLater();
      return hasReserve || usedReserve;
    },
    end(): void {
      ended = true;
      cancelTimer();
      cancelRefill();
      if (obstacle === "disk_full") reserve.keepRest();
    },
  };
}
