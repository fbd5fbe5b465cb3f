import { createHash } from "node:crypto";
import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { basename } from "node:path";
import { DatabaseError } from "./database-error.ts";

/** The file beside a backup with its SHA-256 sums: `sha256sum -c` reads it, in the folder of the backup. */
export const checksumFileOf = (path: string) => `${path}.sha256`;

/** One line for each file: its path, and its name in the list. */
export const checksumList = (files: readonly (readonly [path: string, name: string])[]): string =>
  files.map(([path, name]) => lineOf(hashOf(path), name)).join("");

/** As sha256sum escapes: a backslash before the sum says that the name is escaped. */
function lineOf(hash: string, name: string): string {
  const escaped = name.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll("\r", "\\r");
  return `${escaped === name ? "" : "\\"}${hash}  ${escaped}\n`;
}

/**
 * Throws a DatabaseError unless a database and its key have the sums of a backup. The names in the list do not count,
 * since a backup can be renamed. The files of generations are not compared: the database has their hashes.
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
