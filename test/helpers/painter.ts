import { after } from "node:test";
import { createPainter } from "../../lib/drivers/painter/painter.ts";
import { simulatedGenerations } from "../../lib/index.ts";
import { expect, type Who, type World } from "./test-service.ts";

/**
 * One painter for all services of a test file, because starting a thread takes longer than painting a small picture.
 */
export function sharedPainter() {
  const painter = createPainter({ threads: 1 });
  after(() => painter.close());
  const shared = { paint: painter.paint, close: async () => {} };
  return (script?: Parameters<typeof simulatedGenerations>[0]) => simulatedGenerations(script, shared);
}

/** A picture that paints quickly. */
export const small = { model: "any-image", prompt: "a hill", resolution: "32x32" } as const;

/** Creates a generation and returns it. */
export const createGeneration = async (here: World, body: object = small, who: Who = "developer") =>
  expect(await here.call(who, "POST", "/v1/generations", body), 201);

/** Creates a generation and returns it when it is finished. */
export async function finishedGeneration(here: World, body?: object) {
  const { id } = await createGeneration(here, body);
  await here.service.clock.advance("3s");
  return expect(await here.call("viewer", "GET", `/v1/generations/${id}`), 200);
}
