import { createRequire } from "node:module";
import type Database from "better-sqlite3";

/**
 * Loads better-sqlite3, or throws an error with the remedy. Checks versions before loading, because version 13 crashes
 * Node 20 with a segmentation fault when it opens a database.
 */
export function loadNative(
  require: NodeJS.Require = createRequire(import.meta.url),
  node: string = process.versions.node,
): typeof Database {
  let version: string;
  try {
    ({ version } = require("better-sqlite3/package.json") as { version: string });
  } catch (cause) {
    throw new Error('the package better-sqlite3 is not installed. Run "npm install better-sqlite3".', { cause });
  }
  const requiredNode = Number.parseInt(version, 10) >= 13 ? 22 : 20;
  if (Number.parseInt(node, 10) < requiredNode) {
    throw new Error(
      `better-sqlite3 ${version} needs Node ${requiredNode} or later, and this is Node ${node}. Run "npm install better-sqlite3@12", or use a newer Node.`,
    );
  }
  const Driver = require("better-sqlite3") as typeof Database;
  try {
    new Driver(":memory:").close();
  } catch (cause) {
    if (!/bindings file|NODE_MODULE_VERSION|ERR_DLOPEN|invalid ELF/.test((cause as Error).message)) throw cause;
    throw new Error(
      'better-sqlite3 has no binary for this Node (install scripts were blocked, or Node was changed). Run "npm approve-scripts better-sqlite3" (npm 12), then "npm rebuild better-sqlite3".',
      { cause },
    );
  }
  return Driver;
}
