import assert from "node:assert/strict";
import { test } from "node:test";
import { deploymentNow, states } from "../helpers/deployments.ts";
import { expect, git, start, world } from "../helpers/test-service.ts";

const at = (second: number) => new Date(Date.parse(start) + second * 1000).toISOString();

test("the order of deployments", async (t) => {
  await t.test("one environment builds or rolls out one at a time, first in, first out", async (t) => {
    const here = await world(t);
    const { id } = await here.project();
    const line = [await here.deploy(id), await here.deploy(id), await here.deploy(id)];
    const seconds = [1, 4, 5.999, 6, 9, 11, 16];
    const story: string[] = [];
    for (const second of seconds) {
      await here.service.clock.advanceTo(at(second));
      story.push((await states(here, ...line)).join(" "));
    }
    assert.deepEqual(story, [
      "building queued queued",
      "deploying queued queued",
      "deploying queued queued",
      "active building queued",
      "active deploying queued",
      "active active building",
      "active active active",
    ]);
  });

  await t.test("a deployment queued during another one still waits its whole second", async (t) => {
    const here = await world(t);
    const { id } = await here.project();
    const first = await here.deploy(id);
    await here.service.clock.advanceTo(at(5.5));
    const second = await here.deploy(id);
    await here.service.clock.advanceTo(at(6));
    assert.deepEqual(await states(here, first, second), ["active", "queued"]);
    await here.service.clock.advanceTo(at(6.5));
    assert.deepEqual(await states(here, second), ["building"]);
  });

  await t.test("a deployment behind a cancelled one waits its own second", async (t) => {
    const here = await world(t);
    const { id } = await here.project();
    const first = await here.deploy(id);
    await here.service.clock.advanceTo(at(0.5));
    const second = await here.deploy(id);
    expect(await here.call("developer", "POST", `/v1/deployments/${first.id}/cancel`), 200);
    await here.service.clock.advanceTo(at(1.4));
    assert.deepEqual(await states(here, first, second), ["cancelled", "queued"]);
    await here.service.clock.advanceTo(at(1.5));
    assert.deepEqual(await states(here, second), ["building"]);
  });

  await t.test("a long queue of one environment costs no work until a deployment's turn", async (t) => {
    const here = await world(t, { rateLimit: 1_000_000 });
    const { id } = await here.project();
    for (let i = 0; i < 100; i++) await here.deploy(id);
    const [turn, step] = [1, 1];
    assert.equal((await here.service.clock.advance("2s")).ran, turn + step);
  });

  await t.test("two environments, and two projects, run side by side", async (t) => {
    const here = await world(t);
    const [web, shop] = [await here.project("web"), await here.project("shop")];
    const all = [
      await here.deploy(web.id),
      await here.deploy(web.id, { environment: "staging" }),
      await here.deploy(shop.id),
    ];
    await here.service.clock.advanceTo(at(1));
    assert.deepEqual(await states(here, ...all), ["building", "building", "building"]);
    await here.service.clock.advanceTo(at(6));
    assert.deepEqual(await states(here, ...all), ["active", "active", "active"]);
  });

  await t.test("four run at a time unless the option concurrency says otherwise", async (t) => {
    const here = await world(t);
    const { id } = await here.project();
    const all = [];
    for (const environment of ["a", "b", "c", "d", "e"]) all.push(await here.deploy(id, { environment }));
    await here.service.clock.advanceTo(at(1));
    assert.deepEqual(await states(here, ...all), ["building", "building", "building", "building", "queued"]);
    await here.service.clock.advanceTo(at(6));
    assert.deepEqual(await states(here, ...all), ["active", "active", "active", "active", "building"]);
  });

  await t.test("the limit counts over all organizations, the oldest first", async (t) => {
    const here = await world(t, { deployments: { concurrency: 1 } });
    const ours = await here.project();
    const body = { name: "theirs", region: "eu-west-1" };
    const theirs = expect(await here.call("stranger", "POST", "/v1/projects", body), 201);
    const first = await here.deploy(ours.id);
    const theirOrder = { project_id: theirs.id, environment: "production", source: git };
    const second = expect(await here.call("stranger", "POST", "/v1/deployments", theirOrder), 201);
    const third = await here.deploy(ours.id, { environment: "staging" });
    const story: string[] = [];
    for (const second_ of [1, 6, 11]) {
      await here.service.clock.advanceTo(at(second_));
      const [a, c] = await states(here, first, third);
      story.push(`${a} ${(await deploymentNow(here, second.id, "stranger")).status} ${c}`);
    }
    assert.deepEqual(story, ["building queued queued", "active building queued", "active active building"]);
  });

  await t.test(
    "who waits for a place and is cancelled leaves it to the next, which is not the next of its own",
    async (t) => {
      const here = await world(t, { deployments: { concurrency: 1 } });
      const { id } = await here.project();
      const all = [];
      for (const environment of ["a", "b", "c", "b", "c"]) all.push(await here.deploy(id, { environment }));
      const [, b] = all;
      const story = [];
      for (const second of [1, 6, 11, 16]) {
        await here.service.clock.advanceTo(at(second));
        if (second === 1) expect(await here.call("developer", "POST", `/v1/deployments/${b.id}/cancel`), 200);
        story.push((await states(here, ...all)).join(" "));
      }
      assert.deepEqual(story, [
        "building cancelled queued queued queued",
        "active cancelled building queued queued",
        "active cancelled active building queued",
        "active cancelled active active building",
      ]);
    },
  );
});
