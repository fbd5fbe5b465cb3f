import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type Change, createChangeFeed } from "../../lib/features/events/change-feed.ts";
import type { Cluster } from "../../lib/store/engine.ts";
import { createStore } from "../../lib/store/store.ts";
import { newDatabase } from "../helpers/engines.ts";

const change = (id: string): Change => ({ kind: "log", organization_id: "org_1", id });

/** A feed on its own store, and the errors that it logged. */
async function feedOf(t: TestContext) {
  const opened = await newDatabase(t);
  const store = createStore(opened.engine);
  const errors: string[] = [];
  const log = { error: (message: string) => errors.push(message), warn() {}, info() {}, debug() {} };
  return { store, errors, feed: createChangeFeed({ log, store, opened }) };
}

test("the feed publishes committed changes in order, and none before its commit", async (t) => {
  const { store, feed } = await feedOf(t);
  const changes: Change[] = [];
  feed.listen((one) => changes.push(one));
  await store.transaction("all", async (tx) => {
    feed.publish(tx, change("one"));
    feed.publish(tx, change("two"));
    assert.deepEqual(changes, []);
  });
  assert.deepEqual(changes, [change("one"), change("two")]);
});

test("the feed publishes nothing that was rolled back", async (t) => {
  const { store, feed } = await feedOf(t);
  const changes: Change[] = [];
  feed.listen((one) => changes.push(one));
  const undone = store.transaction("all", async (tx) => {
    feed.publish(tx, change("one"));
    throw new Error("undone");
  });
  await assert.rejects(undone, /undone/);
  assert.deepEqual(changes, []);
});

test("a listener that fails is logged, and the others are still called; a stopped one is not", async (t) => {
  const { store, feed, errors } = await feedOf(t);
  const changes: Change[] = [];
  feed.listen(() => {
    throw new Error("broken");
  });
  feed.listen((one) => changes.push(one));
  const stop = feed.listen(() => assert.fail("it stopped listening"));
  stop();
  await store.transaction("all", async (tx) => feed.publish(tx, change("one")));
  assert.deepEqual(changes, [change("one")]);
  assert.deepEqual(errors, ["a listener failed"]);
});

test("a message wakes its topic with the id of its record; messages of other programs are ignored", async (t) => {
  let hear = (_: string): void => assert.fail("the feed does not listen yet");
  const { engine } = await newDatabase(t);
  const listen = async (heard: (message: string) => void) => {
    hear = heard;
  };
  const log = { error: assert.fail, warn() {}, info() {}, debug() {} };
  const feed = createChangeFeed({
    log,
    store: createStore(engine),
    opened: { cluster: { listen } as unknown as Cluster },
  });
  const woken: string[] = [];
  feed.onWake("jobs", (id) => woken.push(`jobs ${id}`));
  feed.onWake("pump", (id) => woken.push(`pump ${id}`));
  feed.listen((one) => assert.fail(JSON.stringify(one)));
  await feed.begin();
  hear('{"kind":"wake","name":"pump end_1"}');
  hear('{"kind":"wake","name":"jobs"}');
  for (const text of ["", "null", "7", "not JSON", '{"kind":"wake"}', '{"kind":"wake","name":7}', "{}"]) hear(text);
  hear('{"kind":"wake","name":"of a later version"}');
  assert.deepEqual(woken, ["pump end_1", "jobs "]);
});
