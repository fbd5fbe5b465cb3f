import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type Change, createChangeFeed } from "../../lib/events/change-feed.ts";
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
