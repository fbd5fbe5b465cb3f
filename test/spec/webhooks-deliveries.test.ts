import assert from "node:assert/strict";
import { test } from "node:test";
import { expect, world } from "../helpers/test-service.ts";

test("each delivery of a page lists its own attempts in order, and none of another endpoint", async (t) => {
  const here = await world(t);
  const ids: string[] = [];
  for (const name of ["one", "other"]) {
    const hook = { url: `https://${name}.inbox.test/in`, events: ["project.created"] };
    ids.push(expect(await here.call("owner", "POST", "/v1/webhooks", hook), 201).id);
    here.service.inbox.script(name, name === "one" ? [500, 501, 502, 200, 503] : []);
  }
  for (const name of ["web", "api", "docs"]) await here.project(name);
  await here.service.settle();
  await here.service.clock.advance("30s");
  const path = `/v1/webhooks/${ids[0]}/deliveries`;
  const pages: number[][] = [];
  const read = async (query: string): Promise<void> => {
    const { data, meta } = (await here.call("owner", "GET", `${path}?per_page=2${query}`)).body;
    for (const { attempts } of data)
      pages.push(attempts.flatMap((one: { number: number; status: number }) => [one.number, one.status]));
    if (meta.next_cursor !== null) await read(`&cursor=${meta.next_cursor}`);
  };
  await read("");
  assert.deepEqual(pages, [
    [1, 502, 2, 200],
    [1, 501, 2, 503],
    [1, 500, 2, 200],
  ]);
});
