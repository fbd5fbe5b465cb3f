import { readFileSync } from "node:fs";
import { systemTimer } from "../lib/kernel/clock.ts";

/** A process's name and parent; undefined if it has ended or there is no /proc. */
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
 * If `npx` started this program, stops it when npx ends, as SIGTERM would. npx dies silently on some signals, and
 * passes others only to its shell, which then ends alone. A program with any other parent may outlive it, for example
 * one that an `npm run` script put into the background.
 */
export function stopWithNpx(): void {
  if (process.env["npm_command"] !== "exec") return;
  const parent = process.ppid;
  const shell = lookUp(parent);
  // If the parent is not a shell, it is npm. Then npm's own parent may end without stopping this program.
  const above = shell && /^(ba|da|k|z|a)?sh$/.test(shell.name) ? shell.parent : undefined;
  const isOrphan = () =>
    process.ppid !== parent || !isAlive(parent) || (above !== undefined && lookUp(parent)?.parent !== above);
  const watch = () => void systemTimer("500ms", () => (isOrphan() ? process.kill(process.pid, "SIGTERM") : watch()));
  watch();
}
