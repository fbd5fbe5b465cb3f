import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { type TestContext, test } from "node:test";
import { Worker } from "node:worker_threads";
import { createPainter, type PaintOrder, startPainting } from "../../lib/drivers/painter/painter.ts";
import { compiled } from "../helpers/bundle.ts";

const order: PaintOrder = {
  kind: "image",
  prompt: "a lake at sunset",
  width: 48,
  height: 32,
  format: "png",
  seed: 7,
  duration_ms: 0,
};

/** A painter that closes with the test. */
function painter(t: TestContext, threads = 1) {
  const made = createPainter({ threads });
  t.after(made.close);
  return made;
}

test("the same order gives the same bytes; another prompt or seed gives others", async (t) => {
  const [one, other] = [painter(t), painter(t, 2)];
  const [first, again, elsewhere, seed, prompt] = await Promise.all([
    one.paint(order),
    one.paint({ ...order }),
    other.paint(order),
    other.paint({ ...order, seed: 8 }),
    other.paint({ ...order, prompt: "a lake at night" }),
  ]);
  assert.deepEqual(first, again);
  assert.deepEqual(first, elsewhere);
  assert.notDeepEqual(first, seed);
  assert.notDeepEqual(first, prompt);
});

test("an order that cannot be painted is refused with a sentence", async (t) => {
  const { paint } = painter(t);
  const bad: [Partial<PaintOrder>, RegExp][] = [
    [{ width: 15 }, /width must be a whole number from 16 to 2048, not 15/],
    [{ height: 2049 }, /height must be a whole number from 16 to 2048, not 2049/],
    [{ width: 20.5 }, /width/],
    [{ seed: -1 }, /seed must be a whole number from 0 to 4294967295, not -1/],
    [{ seed: 4_294_967_296 }, /seed/],
    [{ format: "mp4" }, /no image can be mp4/],
    [{ kind: "video" }, /no video can be png/],
    [{ kind: "video", format: "mp4", duration_ms: 999 }, /duration_ms must be a whole number from 1000 to 8000/],
    [{ kind: "video", format: "mp4", duration_ms: 1000, width: 17 }, /even sides, not 17x32/],
  ];
  for (const [part, message] of bad) await assert.rejects(paint({ ...order, ...part }), message);
});

test("an aborted order is rejected with the signal's reason, and the others continue", async (t) => {
  const { paint } = painter(t);
  const [running, queued, before] = [new AbortController(), new AbortController(), AbortSignal.abort("early")];
  const large = paint({ ...order, width: 2048, height: 2048 }, running.signal);
  const small = paint(order, queued.signal);
  const last = paint(order);
  queued.abort("no longer wanted");
  await assert.rejects(small, (reason) => reason === "no longer wanted");
  running.abort("too slow");
  await assert.rejects(large, (reason) => reason === "too slow");
  await assert.rejects(paint(order, before), (reason) => reason === "early");
  assert.equal((await last).content_type, "image/png");
});

test("closing rejects unfinished orders, leaves nothing open, and refuses later orders", async () => {
  const open = () => process.getActiveResourcesInfo().filter((name) => /Worker|MessagePort/.test(name)).length;
  const before = open();
  const { paint, close } = createPainter({ threads: 1 });
  const running = paint({ ...order, width: 2048, height: 2048 });
  const queued = paint(order);
  const ends = Promise.all([
    assert.rejects(running, /closed before the picture was finished/),
    assert.rejects(queued, /closed before the picture was finished/),
  ]);
  assert.ok(open() > before);
  await close();
  await ends;
  assert.equal(open(), before);
  await assert.rejects(paint(order), /the painter is closed/);
  await close();
});

test("a worker that dies fails only its own order, and is replaced", async (t) => {
  const starts = [
    () => new Worker("process.exit(3)", { eval: true }),
    () => new Worker("throw new Error('no room')", { eval: true }),
  ];
  const { paint, close } = createPainter({ threads: 1, start: () => (starts.shift() ?? startPainting)() });
  t.after(close);
  const [one, other, last] = [paint(order), paint(order), paint(order)];
  await assert.rejects(one, /the picture could not be painted: its worker ended with 3/);
  await assert.rejects(other, /the picture could not be painted: no room/);
  assert.equal((await last).content_type, "image/png");
});

test("a thread that compresses is stopped only when it has ended that, since Node ends the process otherwise", async (t) => {
  const compresses = `require("node:worker_threads").parentPort.on("message", ({ stopGuard }) => {
    Atomics.store(stopGuard, 0, 1);
    new BroadcastChannel("painter.test").postMessage("compresses");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
    Atomics.store(stopGuard, 0, 0);
    require("node:worker_threads").parentPort.postMessage({ failed: "too late" });
  })`;
  const channel = new BroadcastChannel("painter.test");
  t.after(() => channel.close());
  const thread = new Worker(compresses, { eval: true });
  const ends: string[] = [];
  const ended = new Promise((resolve) => thread.on("exit", resolve));
  thread.on("message", () => ends.push("compressed")).on("exit", () => ends.push("stopped"));
  const { paint, close } = createPainter({ threads: 1, start: () => thread });
  t.after(close);
  const cancel = new AbortController();
  const compressing = new Promise((resolve) => channel.addEventListener("message", resolve));
  const painting = paint(order, cancel.signal);
  await compressing;
  cancel.abort("no longer wanted");
  await assert.rejects(painting, (reason) => reason === "no longer wanted");
  assert.deepEqual(ends, []);
  await ended;
  assert.deepEqual(ends, ["compressed", "stopped"]);
});

test("the bundle paints the same bytes, and a process that does not close the painter still ends", async (t) => {
  const words = [compiled("test/painter/painter.child.js"), JSON.stringify(order)];
  const { stdout, stderr, status } = spawnSync(process.execPath, words, { timeout: 60_000 });
  assert.deepEqual([status, stderr.toString()], [0, ""]);
  assert.deepEqual(stdout, Buffer.from((await painter(t).paint(order)).bytes));
});
