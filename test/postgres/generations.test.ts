import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { createService, type Service } from "../../lib/index.ts";
import { call, encryptionKey, severalServices } from "./several.ts";

/** A driver that works until it is stopped, as a program does. */
function endless() {
  const works = new Map<string, () => void>();
  const began = new EventTarget();
  const stop = (id: string) => works.get(id)?.();
  return {
    works,
    began,
    delay: () => 0,
    async submit({ generation_id }: { generation_id: string }) {
      const stopped = new Promise<void>((resolve) => works.set(generation_id, resolve));
      began.dispatchEvent(new Event("began"));
      await stopped.finally(() => works.delete(generation_id));
      throw new Error("the work was stopped");
    },
    poll: async () => ({ state: "failed" as const, message: "is never asked" }),
    cancel: async ({ generation_id }: { generation_id: string }) => stop(generation_id),
    close: async () => [...works.keys()].forEach(stop),
  };
}

test("a cancel at any process stops the work in the process that began it", { timeout: 60_000 }, async (t) => {
  const [mine, other] = [endless(), endless()];
  let two: Service<string | null> | undefined;
  // Closes the service before the database is dropped.
  t.after(() => two?.close());
  const { services, key, url } = await severalServices(t, 1, { generations: { driver: mine } });
  const one = services[0] as Service<string | null>;
  two = await createService({
    mode: "start",
    database: url,
    encryptionKey,
    logLevel: "error",
    generations: { driver: other },
  });
  for (let round = 0; round < 5; round++) {
    const begins = Promise.race([mine, other].map(({ began }) => once(began, "began")));
    const body = { model: "any-image", prompt: "a hill", resolution: "32x32" };
    const { id } = (await call(one, key, "POST", "/v1/generations", body)).body;
    await begins;
    const isMine: boolean = mine.works.has(id);
    const driver = isMine ? mine : other;
    const elsewhere: Service<string | null> = isMine ? two : one;
    const work = driver.works.get(id);
    assert.ok(work);
    const stopped = new Promise<void>((resolve) => {
      driver.works.set(id, () => {
        work();
        resolve();
      });
    });
    assert.equal((await call(elsewhere, key, "POST", `/v1/generations/${id}/cancel`)).status, 200);
    await stopped;
  }
});
