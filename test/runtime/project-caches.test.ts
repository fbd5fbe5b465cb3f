import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createProjectCaches } from "../../lib/platform/runtime/project-caches.ts";
import { temporaryFolder } from "../helpers/program.ts";

test("A full folder of packages is emptied, but never while another build of the environment uses it", async (t) => {
  const caches = createProjectCaches(temporaryFolder(t));
  const file = join(caches.folder, "prj_1/packages-production/left.tgz");
  const one = { project_id: "prj_1", environment: "production" };
  const most = 4096;
  const fill = () => writeFileSync(file, Buffer.alloc(3 * most));
  mkdirSync(join(file, ".."), { recursive: true });
  fill();
  let end = () => {};
  const running = new Promise<void>((resolve) => {
    end = resolve;
  });
  let begun = () => {};
  const first = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const build = caches.withPackages(one, most, async (folder, stored_bytes) => {
    assert.deepEqual([folder, stored_bytes, existsSync(file)], [join(file, ".."), 0, false]);
    fill();
    begun();
    await running;
    assert.ok(existsSync(file));
  });
  // Meanwhile: another build of the same cache, then builds of another environment and of another project.
  await first;
  await caches.withPackages(one, most, async (_, stored_bytes) => {
    assert.ok(existsSync(file));
    assert.ok(stored_bytes >= 3 * most, `${stored_bytes}`);
  });
  for (const environment of ["preview", "..", "."])
    await caches.withPackages({ ...one, environment }, most, async (folder) => {
      assert.deepEqual([readdirSync(folder), existsSync(file)], [[], true], environment);
    });
  await caches.withPackages({ ...one, project_id: "prj_2" }, most, async (folder) => assert.ok(existsSync(folder)));
  end();
  await build;
  // Two builds begin together: neither empties the cache the other began with.
  let waiting = 0;
  let meet = () => {};
  const both = new Promise<void>((resolve) => {
    meet = resolve;
  });
  const together = async () => {
    waiting += 1;
    if (waiting === 2) meet();
    await both;
    assert.ok(existsSync(file));
  };
  await Promise.all([1, 2].map(() => caches.withPackages(one, most, together)));
  await assert.rejects(
    caches.withPackages(one, most, async () => {
      throw new Error("failed");
    }),
  );
  await caches.withPackages(one, most, async () => assert.equal(existsSync(file), false));
});
