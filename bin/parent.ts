import { readFileSync } from "node:fs";
import { systemTimer } from "../lib/kernel/clock.ts";

/** The name of a process and its parent; undefined if it has ended, and without /proc. */
function lookUp(pid: number): { readonly name: string; readonly parent: number } | undefined {
  try {
    const [, name = "", parent] = /^\d+ \((.*)\) \S (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
    return { name, parent: Number(parent) };
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/**
 * Stops a program that `npx` started when npx ends, as SIGTERM would. npx dies silently at some signals; others it
 * passes to its shell, which then ends alone. A program with any other parent may outlive it, for example if a script
 * of `npm run` puts it in the background.
 */
export function stopWithNpx(): void {
  if (process.env["npm_command"] !== "exec") return;
  const parent = process.ppid;
  const shell = lookUp(parent);
  // Without a shell in between, npm is the parent. Then npm's own parent may end.
  const above = shell && /^(ba|da|k|z|a)?sh$/.test(shell.name) ? shell.parent : undefined;
  const isOrphan = () =>
    process.ppid !== parent || !isAlive(parent) || (above !== undefined && lookUp(parent)?.parent !== above);
  const watch = () => void systemTimer("500ms", () => (isOrphan() ? process.kill(process.pid, "SIGTERM") : watch()));
  watch();
}
