/** The path in a line such as `EROFS: read-only file system, mkdir '/etc/todos'` or `open /etc/todos: read-only file system`. */
const pathIn = (line: string) =>
  /['"](\/[^'"]+)['"]/.exec(line)?.[1] ?? /\s(\/[^\s:]+): read-only file system/i.exec(line)?.[1];

/**
 * The place outside of the `writable` folders that an app wanted to write, by its last lines, the newest first. For a
 * recursive mkdir there, Node reports ENOENT.
 */
export function readOnlyPlace(lines: readonly string[], writable: string): string | undefined {
  const mkdir = new RegExp(`no such file or directory, mkdir '/(?!(?:${writable})[/'])`);
  const writing = lines.filter((line) => /EROFS|[Rr]ead-only file system|Errno 30/.test(line) || mkdir.test(line));
  return writing.length === 0 ? undefined : (writing.map(pathIn).find((one) => one !== undefined) ?? "a folder");
}
