import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { replaceSystemTime } from "../../../lib/kernel/node/system.ts";
import type { Cluster, Connection, Engine, OpenDatabase } from "../../../lib/store/engine.ts";
import { deferred, names } from "../../helpers/temporary-store.ts";
import { type Check, event, type Members, organization, plain, type Room, write } from "./check.ts";

/** Lets both connections hear each other. Returns the messages heard, and functions that wait for more. */
export async function hearing({ opened, another }: Room) {
  const heard: string[] = [];
  let next = deferred();
  const lost = deferred();
  const hear = (message: string) => {
    heard.push(message);
    next.open();
    next = deferred();
  };
  const other = await another?.();
  await other?.cluster?.listen(hear, lost.open);
  await opened.cluster?.listen((message) => hear(`own ${message}`), lost.open);
  return {
    other: other as OpenDatabase,
    heard,
    lost: lost.promise,
    async until(last: string) {
      for (let i = 0; heard.at(-1) !== last; i++) {
        assert.ok(i < 100, "it never came");
        await next.promise;
      }
    },
  };
}

/** Only PostgreSQL must have a cluster: engines of one process share nothing. */
const between = (check: (room: Room, cluster: Cluster, t: TestContext) => Promise<void>): Check[1] => {
  return async (room, t) => {
    const { cluster } = room.opened;
    if (cluster) await check(room, cluster, t);
    else assert.notEqual(room.kind, "postgres");
  };
};
export const cluster: Record<Members<"Cluster", Cluster>, Check> = {
  "Cluster.now": [
    "is the time of the database, whatever the machine shows",
    between(async ({ another, opened: { engine } }, cluster, t) => {
      const real = { setTimeout, clearTimeout, now: Date.now, monotonic: performance.now.bind(performance) };
      t.after(() => replaceSystemTime(real));
      replaceSystemTime({ ...real, now: () => Date.now() - 30_000 });
      const text = "select extract(epoch from clock_timestamp()) * 1000 as now";
      for (const each of [cluster, (await another?.())?.cluster]) {
        const { now } = (await engine.connection.statement(text).first([])) as { now: number };
        assert.ok(Math.abs((each?.now() ?? 0) - now) < 1_000);
      }
    }),
  ],
  "Cluster.counters": [
    "writes outside of transactions, for all processes",
    between(async ({ opened: { engine }, another }, { counters }) => {
      assert.equal(await write(engine, "counted")(counters), 1);
      await assert.rejects(write(engine, "counted")(counters), (error) => engine.isDuplicate(error));
      for (const each of [engine, (await another?.())?.engine])
        assert.deepEqual(await names(each?.connection as Connection), ["counted"]);
    }),
  ],
  "Cluster.onNewest": [
    "has the newest event of all processes at the start of each transaction",
    between(async ({ opened: { engine }, another }, cluster) => {
      const seen: string[] = [];
      cluster.onNewest((id) => seen.push(id));
      await plain(engine, organization);
      const other = (await another?.())?.engine as Engine;
      await plain(other, event("evt_1"));
      await engine.transaction("all", async () => assert.deepEqual(seen, ["evt_1"]));
      await plain(other, event("evt_2"));
      await engine.transaction("all", async () => assert.deepEqual(seen, ["evt_1", "evt_2"]));
    }),
  ],
  "Cluster.listen": [
    "hears the other processes and not its own, and says when it may have missed something",
    between(async (room) => {
      const { heard, until, lost, other } = await hearing(room);
      const tell = ({ engine }: OpenDatabase, word: string) => engine.transaction("all", async (c) => c.tell?.(word));
      await tell(room.opened, "one");
      await until("one");
      await tell(other, "two");
      await until("own two");
      assert.deepEqual(heard, ["one", "own two"]);
      const bringBack = await room.takeAway?.();
      await lost;
      await bringBack?.();
    }),
  ],
};
