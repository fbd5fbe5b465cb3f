import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { fileURLToPath } from "node:url";

/** Expands `~/x`, `file:x`, `file:///x` and `sqlite:x`, which no shell has expanded. Returns other text unchanged. */
export function pathOf(text: string): string {
  if (/^~(?=[\\/]|$)/.test(text)) return homedir() + text.slice(1);
  const [, path] = /^(?:file|sqlite3?):(?!\/\/)([^?#]+)$/i.exec(text) ?? [];
  if (path !== undefined) return pathOf(path);
  try {
    return /^file:\/\/[^?#]*$/i.test(text) ? fileURLToPath(text) : text;
  } catch {
    // The URL names another machine.
    return text;
  }
}

/** The text of a user's file, by path or descriptor. Some editors begin a file with a byte order mark. */
export const readText = (file: string | number): string => readFileSync(file, "utf8").replace(/^\uFEFF/, "");
