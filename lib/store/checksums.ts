import { createHash } from "node:crypto";
import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { basename } from "node:path";
import { DatabaseError } from "./database-error.ts";

/** The file of SHA-256 sums beside a backup. Check it with `sha256sum -c` in the backup's folder. */
export const checksumFileOf = (path: string) => `${path}.sha256`;

/** One line for each file: `path` is hashed, and `name` appears in the list. */
export const checksumList = (files: readonly (readonly [path: string, name: string])[]): string =>
  files.map(([path, name]) => lineOf(hashOf(path), name)).join("");

/** Escapes as sha256sum does: a leading backslash marks an escaped name. */
function lineOf(hash: string, name: string): string {
  const escaped = name.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll("\r", "\\r");
  return `${escaped === name ? "" : "\\"}${hash}  ${escaped}\n`;
}

/**
 * Throws a DatabaseError if a database or its key does not match the checksums of its backup. Names in the list are
 * ignored, because a backup can be renamed. Files of generations are not compared here: their hashes are in the
 * database.
 */
export function checkSums(backup: string, copy = backup): void {
  const file = checksumFileOf(backup);
  const list = basename(file);
  const hashes = readFileSync(file, "utf8")
    .split("\n")
    .map((line) => /^\\?([0-9a-f]{64}) [ *]./.exec(line)?.[1]);
  for (const [i, suffix] of ["", ".key"].entries()) {
    if (hashes[i] === hashOf(copy + suffix)) continue;
    const reason =
      hashes[i] === undefined
        ? `line ${i + 1} of ${list} is not a checksum`
        : `${basename(backup + suffix)} does not match its checksum in ${list}, so it was changed after the backup`;
    throw new DatabaseError(backup, `${reason}; use another backup, or remove ${list} if the change is intended`);
  }
}

function hashOf(path: string): string {
  const hash = createHash("sha256");
  const bytes = Buffer.alloc(1_048_576);
  const fd = openSync(path, "r");
  try {
    for (let read = readSync(fd, bytes); read > 0; read = readSync(fd, bytes)) hash.update(bytes.subarray(0, read));
  } finally {
    closeSync(fd);
  }
  return hash.digest("hex");
}
