import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { fileURLToPath } from "node:url";

/** `~/x`, `file:x`, `file:///x` or `sqlite:x`, where no shell expands it. Any other text stays as it is. */
export function pathOf(text: string): string {
  if (/^~(?=[\\/]|$)/.test(text)) return homedir() + text.slice(1);
  const [, path] = /^(?:file|sqlite3?):(?!\/\/)([^?#]+)$/i.exec(text) ?? [];
  if (path !== undefined) return pathOf(path);
  try {
    return /^file:\/\/[^?#]*$/i.test(text) ? fileURLToPath(text) : text;
  } catch {
    // It names another machine.
    return text;
  }
}

/** The text of a file of a person's, by its path or descriptor. Some editors begin a file with a byte order mark. */
export const readText = (file: string | number): string => readFileSync(file, "utf8").replace(/^\uFEFF/, "");
