import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { appendFileSync, mkdtempSync, rmdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

export const cannotMount = "this user cannot mount a small disk";

/** A 24 MB disk with a file that fills it; undefined if this user cannot mount one. */
export function smallDisk(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "svc-disk-"));
  const { status } = spawnSync("mount", ["-t", "tmpfs", "-o", "size=24m", "tmpfs", folder], { stdio: "ignore" });
  t.after(() => {
    // A service may still have files open on it.
    if (status === 0) spawnSync("umount", ["-l", folder]);
    rmdirSync(folder);
  });
  if (status !== 0) return undefined;
  const ballast = join(folder, "ballast");
  return {
    database: join(folder, "svc.db"),
    /** Fills the disk completely, or writes this many megabytes. */
    fill(megabytes?: number) {
      if (megabytes !== undefined) return appendFileSync(ballast, Buffer.alloc(megabytes * 1024 * 1024));
      for (const bytes of [1024 * 1024, 4096]) {
        try {
          for (let i = 0; i < 10_000; i++) appendFileSync(ballast, Buffer.alloc(bytes));
        } catch (error) {
          assert.equal((error as NodeJS.ErrnoException).code, "ENOSPC");
        }
      }
    },
    clear: () => rmSync(ballast),
  };
}
