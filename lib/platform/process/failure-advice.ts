import type { LogLine } from "../../drivers/deployment/contract.ts";
import { isOfWindows, keepLf } from "./program-faults.ts";

const full = /ENOSPC|[Nn]o space left on device|Errno 28/;
const loopback = /(?:127\.0\.0\.1|localhost|(?<![\da-f:])\[?::1\]?)"?(?::|, port )(\d{1,5})\b/i;
/** A server in a line about a refused connection. */
const server =
  /connect ECONNREFUSED \S|\[[\da-f:.]+\]:\d|(?<![\w.:-])(?:\d+(?:\.\d+){3}|[a-z][\w-]*(?:\.[\w-]+)*):\d{2,5}\b|, port \d/i;

/** Messages about a certificate that no known authority has signed: of Node, OpenSSL, Python and Go. */
const untrusted =
  /SELF_SIGNED_CERT|UNABLE_TO_VERIFY_LEAF|UNABLE_TO_GET_ISSUER|self[- ]signed certificate|CERTIFICATE_VERIFY_FAILED|unable to get local issuer|signed by unknown authority/i;
/** Advice for a build or an app that does not trust a private certificate authority. */
export const certificateAdvice = (lines: readonly string[], isBuild: boolean): string | undefined =>
  lines.some((line) => untrusted.test(line))
    ? `; it does not trust the certificate of a server: name a file with that certificate authority in NODE_EXTRA_CA_CERTS (Node), ${isBuild ? "PIP_CERT (pip) " : "REQUESTS_CA_BUNDLE (Python) "}or SSL_CERT_FILE (others), as ${isBuild ? "deployments.buildVariables" : "a variable of the environment"}; it must lie where boxes can read it, such as below /etc/ssl`
    : undefined;
/** Advice for a script with the line ends of Windows. */
export const windowsAdvice = (lines: readonly string[]): string | undefined =>
  lines.some(isOfWindows) ? `; a script has the line ends of Windows (CRLF): ${keepLf("*.sh")}` : undefined;

/** The variable that leads to a port of localhost, or to any port of it. */
function variableTo(variables: Readonly<Record<string, string>>, port: string | undefined) {
  for (const [name, value] of Object.entries(variables)) {
    const [, found] = /^\w[\w+.-]*:\/\/(?:[^@/]*@)?(?:localhost|127\.0\.0\.1|\[::1\])(?::(\d+))?(?:[/?]|$)/.exec(
      value,
    ) ?? [undefined, ""];
    if (found !== "" && (port === undefined || found === undefined || found === port)) return { name, port: found };
  }
  return undefined;
}

/** Messages about a read-only path. For a recursive mkdir there, Node reports ENOENT. */
const readOnly = /EROFS|[Rr]ead-only file system|Errno 30|no such file or directory, mkdir '\/(?!(?:app|data|tmp)[/'])/;
/** The path in `EROFS: read-only file system, mkdir '/etc/todos'` or `open /etc/todos: read-only file system`. */
const pathIn = (line: string) =>
  /['"](\/[^'"]+)['"]/.exec(line)?.[1] ?? /\s(\/[^\s:]+): read-only file system/i.exec(line)?.[1];

/** The file that `node --env-file` did not find. */
const envFile = /^node: (\S{1,200}): not found$/;
const missing = /Cannot find (?:module|package) '((?:@[^'/]+\/)?[^'/.][^'/]*)/;

interface About {
  readonly reachesLoopback: boolean;
  readonly isPruned: boolean;
  readonly variables: Readonly<Record<string, string>>;
}

/** Advice that follows the reason of a failed start. It depends on the app's output. */
export function adviceOf(
  lines: readonly Pick<LogLine, "message">[],
  { reachesLoopback, isPruned, variables }: About,
): string {
  const printed = lines.map(({ message }) => message).reverse();
  const absent = printed.map((line) => missing.exec(line)?.[1]).find((one) => one !== undefined);
  if (isPruned && absent !== undefined)
    return `; a release has no development dependencies: if ${absent} is one, move it to dependencies. A site that is only built needs no start: name its folder as static in svc.json`;
  if (printed.some((line) => /prisma generate|@prisma\/client did not initialize|\.prisma\/client/.test(line)))
    return '; the client of Prisma was not generated: add "postinstall": "prisma generate" to the scripts of package.json';
  const advice = windowsAdvice(printed) ?? certificateAdvice(printed, false);
  if (advice !== undefined) return advice;
  const file = printed.map((line) => envFile.exec(line)?.[1]).find((one) => one !== undefined);
  if (file !== undefined)
    return `; its start reads ${file}, which is not in the repository: set its variables in the environment, and name a start without it in svc.json or a Procfile, such as with --env-file-if-exists`;
  const unwritable = printed.filter((line) => readOnly.test(line));
  if (unwritable.length > 0)
    return `; it writes to ${unwritable.map(pathIn).find((one) => one !== undefined) ?? "a folder"}, which is read-only: permanent files belong in /data (the variable DATA_DIR), others in /tmp`;
  if (printed.some((line) => full.test(line)))
    return "; it wrote more than deployments.scratch below its folder, or 256 MiB in /tmp: large files belong in /data (the variable DATA_DIR)";
  const refused = printed.filter((line) => /refused/i.test(line));
  if (refused.length === 0 || reachesLoopback) return "";
  const printedPort = refused.map((line) => loopback.exec(line)?.[1]).find((one) => one !== undefined);
  const isElsewhere = printedPort === undefined && refused.some((line) => server.test(line));
  const variable = isElsewhere ? undefined : variableTo(variables, printedPort);
  const port = printedPort ?? variable?.port;
  if (port === undefined && variable === undefined) return "";
  const named = variable === undefined ? "" : `the variable ${variable.name} names localhost: `;
  const at = port === undefined ? "127.0.0.1" : `127.0.0.1:${port}`;
  return `; ${named}nothing listens at ${at} in the app's own network: to reach a server of this machine there, the operator adds ${at}${port === undefined ? ":PORT" : ""} to the option deployments.reach`;
}

const error = /^(?:[A-Z]\w{0,60}(?:Error|Exception)|Error|error|fatal|panic): ./;

/** The first error that an app printed, for when no better reason is known. */
export function errorIn(lines: readonly Pick<LogLine, "message">[]): string {
  const first = lines.map(({ message }) => message.trim()).find((line) => error.test(line));
  return first === undefined ? "" : `; it printed: ${first.slice(0, 200)}`;
}
