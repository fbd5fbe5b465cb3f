import assert from "node:assert/strict";
import { test } from "node:test";
import { turns } from "../helpers/pauses.ts";
import { expect, world } from "../helpers/test-service.ts";

const events = 60;

test("a delivery is tried once where its receiver succeeds, whenever the answers arrive", async (t) => {
  const here = await world(t);
  const received = new Map<string, number>();
  const names = ["one", "other"];
  for (const name of names) {
    expect(
      await here.call("owner", "POST", "/v1/webhooks", {
        url: `https://${name}.inbox.test/in`,
        events: ["project.created"],
      }),
      201,
    );
    let requests = 0;
    here.service.webhooks.sink(name, async ({ headers }) => {
      const id = headers.get("x-service-delivery") ?? "";
      received.set(id, (received.get(id) ?? 0) + 1);
      // Spreads the answers over the statements of the transactions that earlier answers caused.
      await turns((requests++ * 7) % 23);
      return new Response();
    });
  }
  for (let i = 0; i < events; i++) await here.project(`project-${i}`);
  await here.service.settle();
  assert.equal(received.size, names.length * events);
  assert.deepEqual(
    [...received.values()].filter((tries) => tries > 1),
    [],
  );
});
