import type { LogLine } from "../deployment/contract.ts";

/** For a recursive mkdir on a read-only file system, Node reports ENOENT. */
const readOnly =
  /no such file or directory, mkdir '\/(?!app|data|tmp)|EROFS|Read-only file system|read-only file system|Errno 30/;
const full = /ENOSPC|[Nn]o space left on device|Errno 28/;
/** The path in a line such as `EROFS: read-only file system, mkdir '/etc/todos'` or `open /etc/todos: read-only file system`. */
const pathIn = (line: string) =>
  /['"](\/[^'"]+)['"]/.exec(line)?.[1] ?? /\s(\/[^\s:]+): read-only file system/i.exec(line)?.[1];
const loopback = /(?:127\.0\.0\.1|localhost|\[?::1\]?)"?(?::|, port )(\d{1,5})\b/i;

const missing = /Cannot find (?:module|package) '((?:@[^'/]+\/)?[^'/.][^'/]*)/;

/**
 * Advice that follows the reason of a failure, based on the output: the app wrote to a read-only place, or it called a
 * server of this machine that a box cannot reach.
 */
export function adviceOf(
  lines: readonly Pick<LogLine, "message">[],
  { reachesLoopback, isPruned }: { readonly reachesLoopback: boolean; readonly isPruned: boolean },
): string {
  const printed = lines.map(({ message }) => message).reverse();
  const absent = printed.map((line) => missing.exec(line)?.[1]).find((one) => one !== undefined);
  if (isPruned && absent !== undefined)
    return `; a release has no development dependencies: if ${absent} is one, move it to dependencies. A site that is only built needs no start: name its folder as static in svc.json`;
  const writing = printed.filter((line) => readOnly.test(line));
  if (writing.length > 0) {
    const path = writing.map(pathIn).find((one) => one !== undefined) ?? "a folder";
    return `; it writes to ${path}, which is read-only: permanent files belong in /data (the variable DATA_DIR), others in /tmp`;
  }
  if (printed.some((line) => full.test(line)))
    return "; it wrote more than deployments.scratch below its folder, or 256 MiB in /tmp: large files belong in /data (the variable DATA_DIR)";
  const refused = printed.filter((line) => /refused/i.test(line));
  const port = refused.map((line) => loopback.exec(line)?.[1]).find((one) => one !== undefined);
  if (port === undefined || reachesLoopback) return "";
  return `; nothing listens at 127.0.0.1:${port} in the app's own network: to reach a server of this machine there, the operator adds 127.0.0.1:${port} to the option deployments.reach`;
}

const error = /^(?:[A-Z]\w{0,60}(?:Error|Exception)|Error|error|fatal|panic): ./;

/** The first error that an app printed, for when no better reason is known. */
export function errorIn(lines: readonly Pick<LogLine, "message">[]): string {
  const first = lines.map(({ message }) => message.trim()).find((line) => error.test(line));
  return first === undefined ? "" : `; it printed: ${first.slice(0, 200)}`;
}
