import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import * as v from "valibot";
import { type GenerationDriver, type GenerationWork, progress } from "../../lib/drivers/generation/contract.ts";
import { mediaTypeOf } from "../../lib/drivers/generation/media-type.ts";

/** Work that every driver accepts. */
export const work = (more: Partial<GenerationWork> = {}): GenerationWork => ({
  generation_id: "gen_01ARZ3NDEKTSV4RRFFQ69G5FAV",
  model: "any",
  kind: "image",
  prompt: "a hill",
  inputs: { prompt: "a hill", aspect_ratio: "1:1" },
  width: 32,
  height: 32,
  format: "png",
  seed: 0,
  duration_ms: 0,
  outcome: null,
  elapsed_ms: 0,
  ...more,
});

const anyWork = work;
const film = { kind: "video", format: "mp4", duration_ms: 1000 } as const;

/** Calls the driver as the service does, until the work has ended. */
export async function finish(driver: GenerationDriver, order: GenerationWork) {
  let elapsed_ms = 0;
  let handle: string | null = null;
  for (let asked = 0; asked < 100; asked++) {
    const now: GenerationWork = { ...order, elapsed_ms };
    const answer: v.InferOutput<typeof progress> = v.parse(
      progress,
      handle === null ? await driver.submit(now) : await driver.poll(now, handle),
    );
    if (answer.state !== "running") return answer;
    elapsed_ms += answer.again_ms;
    handle = answer.handle;
  }
  throw new Error("it never ends");
}

/** Tests the contract of generation drivers. `make` may be called several times per test. */
export function conforms(
  name: string,
  make: (t: TestContext) => Promise<GenerationDriver>,
  kind: GenerationWork["kind"] = "image",
): void {
  const work = (more: Partial<GenerationWork> = {}) => anyWork({ ...(kind === "video" && film), ...more });

  test(`${name}: an order ends with a file of a known type, and answers keep to the contract`, async (t) => {
    const answer = await finish(await make(t), work());
    assert.equal(answer.state, "done");
    if (answer.state === "done") assert.match(mediaTypeOf(answer.bytes), new RegExp(`^${kind}/`));
  });

  test(`${name}: the delay is a number of milliseconds`, async (t) => {
    const delay = (await make(t)).delay(work());
    assert.ok(Number.isInteger(delay) && delay >= 0);
  });

  test(`${name}: the same identifier may be submitted again, as after a crash`, async (t) => {
    const driver = await make(t);
    await driver.submit(work());
    assert.equal((await finish(driver, work())).state, "done");
  });

  test(`${name}: a handle is good in another process`, async (t) => {
    const first = await (await make(t)).submit(work());
    if (first.state !== "running" || first.handle === null) return;
    const answer = v.parse(progress, await (await make(t)).poll(work({ elapsed_ms: 60_000 }), first.handle));
    assert.ok(answer.state === "done" || answer.state === "running");
  });

  test(`${name}: cancelling is no fault, whether the work is known, unknown or over`, async (t) => {
    const driver = await make(t);
    await driver.cancel(work(), null);
    await finish(driver, work());
    await driver.cancel(work(), null);
    await driver.cancel(work(), "some handle");
  });

  test(`${name}: several at once do not get in each other's way`, async (t) => {
    const driver = await make(t);
    const ids = ["A", "B", "C"].map((end) => `gen_01ARZ3NDEKTSV4RRFFQ69G5FA${end}`);
    const answers = await Promise.all(ids.map((generation_id) => finish(driver, work({ generation_id }))));
    assert.deepEqual(
      answers.map(({ state }) => state),
      ["done", "done", "done"],
    );
  });
}
