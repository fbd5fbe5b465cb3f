import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { LogLine } from "../../lib/drivers/deployment/contract.ts";
import { adoptContainer } from "../../lib/platform/containers/container-child.ts";
import type { Containers } from "../../lib/platform/containers/container-settings.ts";
import { watchWrittenFiles } from "../../lib/platform/containers/written-files.ts";
import { mockTime } from "../helpers/mock-time.ts";

/** A watched container. `sizes` are the answers of the engine, the last one for good; undefined rejects. */
function watched(
  t: TestContext,
  sizes: (number | undefined)[],
  { stops = [true], took_ms = 0, detached = false } = {},
) {
  mockTime(t, { apis: ["setTimeout", "Date"] });
  const seen = { looks: 0, stops: 0, lines: [] as LogLine[] };
  const containers = {
    async writtenBytes() {
      const bytes = sizes[Math.min(seen.looks++, sizes.length - 1)];
      if (took_ms > 0) t.mock.timers.setTime(Date.now() + took_ms);
      if (bytes === undefined) throw new Error("the engine is away");
      return bytes;
    },
    async stop() {
      if (!stops[Math.min(seen.stops++, stops.length - 1)]) throw new Error("the engine is away");
    },
  };
  const detaching = detached ? AbortSignal.abort() : new AbortController().signal;
  const take = (line: LogLine) => void seen.lines.push(line);
  const files = watchWrittenFiles("c1", { containers, take, scratch_bytes: 1024, detaching });
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
  const after = async (ms: number) => {
    await settle();
    t.mock.timers.tick(ms);
    await settle();
  };
  return { seen, files, after, settle };
}

test("A container above the limit is stopped, and looked at again if the stop failed", async (t) => {
  const { seen, files, after, settle } = watched(t, [0, 2048], { stops: [false, true] });
  await settle();
  assert.deepEqual([seen.looks, seen.stops, files.reason()], [1, 0, undefined]);
  await after(10_000);
  assert.deepEqual([seen.looks, seen.stops, files.reason()], [2, 1, undefined]);
  await after(10_000);
  assert.deepEqual([seen.looks, seen.stops], [3, 2]);
  assert.match(files.reason() ?? "", /^wrote more than deployments\.scratch \(1 KiB\) outside of \/data/);
  await after(60_000);
  assert.equal(seen.looks, 3);
  assert.equal(await files.end(), true);
});

test("A size that the engine does not say is told once, and five in a row stop the container", async (t) => {
  const { seen, files, after } = watched(t, [undefined, undefined, 0, undefined]);
  for (let looks = 1; looks < 7; looks++) await after(10_000);
  assert.deepEqual([seen.looks, seen.stops, files.reason()], [7, 0, undefined]);
  assert.deepEqual(
    seen.lines.map(({ level }) => level),
    ["warn"],
  );
  await after(10_000);
  assert.deepEqual([seen.looks, seen.stops, seen.lines.length], [8, 1, 1]);
  assert.match(files.reason() ?? "", /^was stopped: the engine did not say .* deployments\.scratch/);
  assert.equal(await files.end(), false);
});

test("A slow engine rests a minute at most", async (t) => {
  const { seen, after } = watched(t, [0], { took_ms: 30_000 });
  await after(59_999);
  assert.equal(seen.looks, 1);
  await after(1);
  assert.equal(seen.looks, 2);
});

test("A container wrote files if its size grew since the first look", async (t) => {
  const same = watched(t, [100]);
  await same.settle();
  assert.equal(await same.files.end(), false);
  await same.after(60_000);
  assert.equal(same.seen.looks, 2);
});

test("A process that is ending looks at no container", async (t) => {
  const { seen, settle } = watched(t, [0], { detached: true });
  await settle();
  assert.equal(seen.looks, 0);
});

/** A container that has ended with the exit code 0. */
function ended(writtenBytes: () => Promise<number>) {
  const containers = {
    wait: async () => {},
    state: async () => ({ Running: false, ExitCode: 0, OOMKilled: false, Error: "", hostPort: undefined }),
    logs: async () => (async function* () {})(),
    stop: async () => {},
    removeLater: () => {},
    writtenBytes,
  } as unknown as Containers;
  return adoptContainer("c1", 0, {
    containers,
    organization_id: "org",
    take: () => {},
    hide: (text) => text,
    paced: (_, write) => write,
    scratch_bytes: 1024,
    detaching: new AbortController().signal,
  });
}

test("A size that never comes does not hold up the end of a container", async (t) => {
  mockTime(t, { apis: ["setTimeout", "Date"] });
  const child = ended(() => new Promise(() => {}));
  await new Promise<void>((resolve) => setImmediate(resolve));
  t.mock.timers.tick(5_000);
  assert.deepEqual(await child.ended, { code: 0, signal: null, leftFiles: false });
});
