import assert from "node:assert/strict";
import { test } from "node:test";
import type { LogLine } from "../../lib/index.ts";
import { deployAndFinish, deploymentNow, logOf, pathsOf, withOutcomes } from "../helpers/deployments.ts";
import { expect, start, type World, world } from "../helpers/test-service.ts";

const at = (second: number) => new Date(Date.parse(start) + second * 1000).toISOString();
const writing = (logs: readonly LogLine[]) => withOutcomes(() => ({ logs }));
const info = (message: string): LogLine => ({ level: "info", message });

async function released(world: World) {
  const { id } = await world.project();
  return deployAndFinish(world, id);
}

test("GET /deployments/{id}/logs", async (t) => {
  await t.test("shows the build and the rollout, oldest first, with the time of each entry", async (t) => {
    const here = await world(t, writing([info("one"), { level: "warn", message: "two" }, info("three")]));
    const { id } = await released(here);
    const log = await logOf(here, id);
    for (const entry of log) assert.deepEqual(Object.keys(entry).sort(), ["level", "message", "timestamp"]);
    const times = log.map(({ timestamp }) => timestamp);
    assert.deepEqual(times, [...times].sort());
    assert.deepEqual([...new Set(times)], [at(0), at(1), at(4), at(6)]);
    const messages = log.map(({ message }) => message);
    const own = messages.indexOf("one");
    assert.deepEqual(messages.slice(own, own + 3), ["one", "two", "three"]);
    assert.equal(log[own + 1]?.level, "warn");
  });

  await t.test("grows while the work goes on, and is complete after the end", async (t) => {
    const here = await world(t);
    const { id: project_id } = await here.project();
    const { id } = await here.deploy(project_id);
    let before: unknown[] = [];
    for (const by of ["0s", "1s", "3s", "2s"]) {
      await here.service.clock.advance(by);
      const log = await logOf(here, id);
      assert.ok(log.length > before.length, by);
      assert.deepEqual(log.slice(0, before.length), before);
      before = log;
    }
    await here.service.clock.advance("1h");
    assert.deepEqual(await logOf(here, id), before);
  });

  await t.test("keeps the lines of several deployments apart", async (t) => {
    const here = await world(t);
    const { id } = await here.project();
    const one = await here.deploy(id, { environment: "one", source: { type: "image", image_url: "one:1" } });
    const two = await here.deploy(id, { environment: "two", source: { type: "image", image_url: "two:2" } });
    await here.service.clock.advance("6s");
    const text = async (of: { id: string }) => (await logOf(here, of.id)).map(({ message }) => message).join("\n");
    assert.match(await text(one), /one:1/);
    assert.doesNotMatch(await text(one), /two:2/);
    assert.match(await text(two), /two:2/);
  });

  await t.test("removes control characters other than tab", async (t) => {
    const nasty = "\u001b[31mred\u001b[0m\u0007\ttab\u0000\u009b2Jend\u007f";
    const here = await world(t, writing([info(nasty), info("two\r\nlines"), info("lone \ud800 surrogate")]));
    const { id } = await released(here);
    const messages = (await logOf(here, id)).map(({ message }) => message);
    for (const message of messages) {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may remain
      assert.doesNotMatch(message, /[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/);
      assert.ok(message.isWellFormed());
    }
    assert.ok(messages.includes("red\ttabend"), messages.join("|"));
  });

  await t.test("removes escape sequences whole", async (t) => {
    const link = "\u001b]8;;https://a.example\u001b\\docs\u001b]8;;\u0007";
    const lines = ["\u001b[32m✓\u001b[0m passed", link, "\u009d0;title\u009cbuilt", "\u001bP1$r0m\u001b\\done"];
    const message = "\u001b[31mnpm ERR!\u001b[0m";
    const here = await world(
      t,
      withOutcomes(() => ({ logs: lines.map(info), result: "fail", message })),
    );
    const { id } = await released(here);
    const messages = (await logOf(here, id)).map(({ message }) => message);
    for (const expected of ["✓ passed", "docs", "built", "done", "npm ERR!"])
      assert.ok(messages.includes(expected), `${expected}: ${messages.join("|")}`);
    const { data } = expect(await here.call("owner", "GET", "/v1/events"), 200);
    assert.equal(data[0].data.reason, "npm ERR!");
  });

  await t.test("pages on request, up to 1000 a page", async (t) => {
    const here = await world(t);
    const { id } = await released(here);
    const whole = await logOf(here, id);
    const path = `/v1/deployments/${id}/logs`;
    const pages: unknown[] = [];
    let query: string | null = "?per_page=2";
    while (query) {
      const { data, meta } = expect(await here.call("viewer", "GET", path + query), 200);
      assert.ok(data.length <= 2);
      pages.push(...data);
      query = meta.next_cursor ? `?per_page=2&cursor=${encodeURIComponent(meta.next_cursor)}` : null;
    }
    assert.deepEqual(pages, whole);
    expect(await here.call("viewer", "GET", `${path}?per_page=1000`), 200);
    for (const wrong of ["0", "1001", "x"]) {
      const answer = expect(await here.call("viewer", "GET", `${path}?per_page=${wrong}`), 422);
      assert.deepEqual(pathsOf(answer), ["per_page"]);
    }
  });
});

test("the log of a deployment is limited", async (t) => {
  await t.test("at 10,000 entries: the last but one says so, the last how the deployment ended", async (t) => {
    const lines = Array.from({ length: 10_500 }, (_, i) => info(`line ${i}`));
    const here = await world(t, writing(lines));
    const { id, status } = await released(here);
    assert.equal(status, "active");
    const log = await logOf(here, id);
    assert.equal(log.length, 10_000);
    assert.match(log.at(-2)?.message ?? "", /full/);
    assert.equal(log.at(-1)?.message, "Deployment succeeded");
    const own = log.slice(0, -2).filter(({ message }) => message.startsWith("line "));
    assert.deepEqual(
      own.map(({ message }) => message),
      lines.slice(0, own.length).map(({ message }) => message),
    );
  });

  await t.test("for a scenario of 20,000 lines, sent over HTTP, and no more", async (t) => {
    const here = await world(t);
    const logs = Array.from({ length: 20_000 }, (_, i) => info(`line ${i} ${"of the build ".repeat(8)}`));
    const scenario = (lines: readonly LogLine[]) =>
      here.call("nobody", "POST", "/_svc/scenarios", { outcome: { logs: lines } });
    assert.deepEqual(pathsOf(expect(await scenario([...logs, info("one more")]), 422)), ["outcome.logs"]);
    expect(await scenario(logs), 200);
    const { id, status } = await released(here);
    assert.equal(status, "active");
    const log = await logOf(here, id);
    assert.equal(log.length, 10_000);
    assert.match(log.at(-2)?.message ?? "", /full/);
  });

  await t.test("and the entry that the deployment failed is behind a full log too", async (t) => {
    const here = await world(t);
    const logs = Array.from({ length: 10_500 }, (_, i) => info(`line ${i}`));
    await here.service.scenarios.next("deployment", { result: "fail", at: "building", logs });
    const { id, status } = await released(here);
    assert.equal(status, "failed");
    const log = await logOf(here, id);
    assert.equal(log.length, 10_000);
    assert.match(log.at(-2)?.message ?? "", /full/);
    assert.deepEqual([log.at(-1)?.level, log.at(-1)?.message], ["error", "Deployment failed"]);
  });

  await t.test("at 8 MiB, counted in bytes, and one entry says so", async (t) => {
    const half = "ä".repeat(256 * 1024);
    const here = await world(t, writing(Array.from({ length: 20 }, () => info(half))));
    const { id, status } = await released(here);
    assert.equal(status, "active");
    const log = await logOf(here, id);
    const bytes = log.reduce((sum, { message }) => sum + Buffer.byteLength(message), 0);
    assert.equal(log.filter(({ message }) => message === half).length, 15);
    assert.ok(bytes <= 8 * 1024 * 1024, String(bytes));
    assert.equal(log.filter(({ message }) => /full/.test(message)).length, 1);
    assert.match(log.at(-2)?.message ?? "", /full/);
  });

  await t.test("and a log below the limit says nothing of it", async (t) => {
    const here = await world(t, writing(Array.from({ length: 500 }, (_, i) => info(`line ${i}`))));
    const { id } = await released(here);
    assert.ok(!(await logOf(here, id)).some(({ message }) => /full/.test(message)));
    assert.equal((await deploymentNow(here, id)).status, "active");
  });
});
