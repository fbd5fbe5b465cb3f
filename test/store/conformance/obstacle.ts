import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { OpenDatabase } from "../../../lib/store/engine.ts";
import { mockTime } from "../../helpers/mock-time.ts";
import { deferred, names } from "../../helpers/temporary-store.ts";
import { type Check, isUnavailable, put, type Room } from "./check.ts";

/** Records each obstacle, and undefined when writes go on again. */
function watching({ engine }: OpenDatabase) {
  const heard: (string | undefined)[] = [];
  const [stopped, goneOn] = [deferred(), deferred()];
  engine.watch({
    writes(obstacle) {
      heard.push(obstacle);
      (obstacle === undefined ? goneOn : stopped).open();
    },
    log() {},
  });
  return { heard, stopped: stopped.promise, goneOn: goneOn.promise };
}

/** Takes the database away, runs `meanwhile`, and brings it back. Returns the watcher's records. */
async function interrupted({ opened, takeAway, kind }: Room, t: TestContext, meanwhile = () => {}) {
  const { heard, stopped, goneOn } = watching(opened);
  if (!takeAway) return heard;
  if (kind === "file") mockTime(t, { apis: ["setTimeout"] });
  const bringBack = await takeAway();
  await assert.rejects(put(opened.engine, "lost"), isUnavailable);
  await stopped;
  meanwhile();
  await bringBack();
  // The watcher looks at a file once a second.
  if (kind === "file") t.mock.timers.tick(1_000);
  await goneOn;
  return heard;
}

export const obstacle: Record<"Engine.obstacle" | "Engine.watch", Check> = {
  "Engine.obstacle": [
    "says why writes are refused, and ends with the reason",
    async (room, t) => {
      const { engine } = room.opened;
      const seen = [engine.obstacle];
      await interrupted(room, t, () => seen.push(engine.obstacle));
      assert.deepEqual(
        seen,
        { memory: [undefined], file: [undefined, "moved"], postgres: [undefined, "unreachable"] }[room.kind],
      );
      assert.equal(engine.obstacle, undefined);
      await put(engine, "kept");
      assert.deepEqual(await names(engine.connection), ["kept"]);
    },
  ],
  "Engine.watch": [
    "tells the last watcher when writes stop and go on, once each",
    async (room, t) => {
      const { heard: before } = watching(room.opened);
      const heard = await interrupted(room, t);
      assert.deepEqual(
        heard,
        { memory: [], file: ["moved", undefined], postgres: ["unreachable", undefined] }[room.kind],
      );
      assert.deepEqual(before, []);
    },
  ],
};
