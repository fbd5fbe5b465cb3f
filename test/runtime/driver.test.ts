import assert from "node:assert/strict";
import { test } from "node:test";
import { EngineError } from "../../lib/platform/containers/engine-api.ts";
import { createRuntimeDriver } from "../../lib/platform/runtime/driver.ts";
import { advance, idOf, workOf } from "../helpers/driver-steps.ts";
import { runtimeKind } from "../helpers/runtime-kind.ts";

const source = { type: "image", repo: null, branch: null, tag: "1", image_url: "web:1" } as const;

test("A deployment waits for an engine that cannot be reached, instead of failing", async () => {
  let isDown = true;
  const find = async () => {
    if (isDown) throw new EngineError("the engine is not running");
    return { ...runtimeKind.release, name: idOf(1) };
  };
  const driver = createRuntimeDriver([{ ...runtimeKind, find }]);
  const work = { ...workOf(idOf(61), source), release: idOf(1) };
  await assert.rejects(driver.step(work), /the engine is not running/);
  isDown = false;
  assert.equal((await advance(driver, work)).end.state, "done");
});
