import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { holdLayer, layer } from "../../lib/platform/box/layers.ts";
import { temporaryFolder } from "../helpers/program.ts";

test("A layer whose free blocks cannot be read is held, and released at its end", (t) => {
  const place = temporaryFolder(t);
  mkdirSync(join(place, layer));
  mkdirSync(join(place, "free-before"));
  const isOpen = () => readdirSync("/proc/self/fd").some((fd) => targetOf(fd) === join(place, layer));
  const hasLeft = holdLayer(place, process.pid);
  assert.ok(isOpen());
  assert.equal(typeof hasLeft(), "boolean");
  assert.ok(!isOpen());
});

function targetOf(fd: string): string | undefined {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return undefined; // The one that lists the folder.
  }
}
