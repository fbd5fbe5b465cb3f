import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, readSync, statSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { DatabaseError } from "../database-error.ts";
import { repositoryFolderOf } from "../repository-files.ts";
import { withFile } from "../sync-folder.ts";
import type { Report } from "./progress.ts";

/** The file of SHA-256 sums beside a backup. Check it with `sha256sum -c` in the backup's folder. */
export const checksumFileOf = (path: string) => `${path}.sha256`;

/** One line for each file: `path` is hashed, and `name` appears in the list. */
export const checksumList = (files: readonly (readonly [path: string, name: string])[], report: Report): string =>
  files
    .map(([path, name], done) => {
      report({ what: "writing checksums of files", done, total: files.length });
      return lineOf(hashOf(path), name);
    })
    .join("");

/** Escapes as sha256sum does: a leading backslash marks an escaped name. */
function lineOf(hash: string, name: string): string {
  const escaped = name.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll("\r", "\\r");
  return `${escaped === name ? "" : "\\"}${hash}  ${escaped}\n`;
}

/**
 * Throws a DatabaseError if a database, its key or its repositories do not match the checksums of its backup. A backup
 * can be renamed: the first name of the list is what its database was called. Files of generations are not compared
 * here: their hashes are in the database.
 */
export function checkSums(backup: string, copy = backup, report: Report = () => {}): void {
  const file = checksumFileOf(backup);
  const list = basename(file);
  const fail = (reason: string): never => {
    throw new DatabaseError(backup, `${reason}; use another backup, or remove ${list} if the change is intended`);
  };
  const lines = readFileSync(file, "utf8")
    .replace(/\r?\n$/, "")
    .split("\n")
    .map(parseLine);
  const before = lines[0]?.name ?? "";
  const hashes = new Map<string, string>();
  for (const [i, line] of lines.entries()) {
    if (!line) fail(`line ${i + 1} of ${list} is not a checksum`);
    else hashes.set(line.name.startsWith(before) ? line.name.slice(before.length) : line.name, line.hash);
  }
  const repositories = repositoryFolderOf("");
  const expected = [...hashes.keys()].filter((name) => name.startsWith(`${repositories}/`));
  const present = filesIn(copy + repositories).map((name) => `${repositories}/${name}`);
  const names = [...new Set(["", ".key", ...expected, ...present])];
  for (const [done, name] of names.entries()) {
    report({ what: "comparing checksums of files", done, total: names.length });
    const named = basename(backup) + name;
    if (!hashes.has(name)) fail(`${named} has no checksum in ${list}, so it was added after the backup`);
    if (!statSync(copy + name, { throwIfNoEntry: false })?.isFile())
      fail(`${named} is missing, and ${list} has its checksum`);
    if (hashes.get(name) !== hashOf(copy + name))
      fail(`${named} does not match its checksum in ${list}, so it was changed after the backup`);
  }
}

/** The opposite of `lineOf`; undefined if the line is no checksum. */
function parseLine(line: string): { readonly hash: string; readonly name: string } | undefined {
  const [, isEscaped, hash, name] = /^(\\?)([0-9a-f]{64}) [ *]([^\n]+?)\r?$/.exec(line) ?? [];
  if (hash === undefined || name === undefined) return undefined;
  const plain = { "\\\\": "\\", "\\n": "\n", "\\r": "\r" } as Record<string, string>;
  return { hash, name: isEscaped ? name.replace(/\\[\\nr]/g, (one) => plain[one] ?? one) : name };
}

/** Everything below a folder that is not a folder itself. */
const filesIn = (folder: string): string[] =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((one) =>
        one.isDirectory() ? [] : [relative(folder, join(one.parentPath, one.name))],
      )
    : [];

const hashOf = (path: string): string =>
  withFile(path, "r", (fd) => {
    const hash = createHash("sha256");
    const bytes = Buffer.alloc(1_048_576);
    for (let read = readSync(fd, bytes); read > 0; read = readSync(fd, bytes)) hash.update(bytes.subarray(0, read));
    return hash.digest("hex");
  });
