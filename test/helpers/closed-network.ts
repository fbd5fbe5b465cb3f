import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer as createHttp, type RequestListener } from "node:http";
import { createServer as createHttps } from "node:https";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { compiled } from "./bundle.ts";
import { type Certificate, certificate } from "./certificates.ts";
import { type Records, startNameServer } from "./name-server.ts";

/*
 * A network namespace in which every address belongs to this machine, so every connection is noticed. These functions
 * run inside it, in a process started by `unshare`.
 */

/** The command that starts a program in its own namespaces. It also works for ordinary users. */
export const unshare = ["unshare", "--user", "--map-root-user", "--net", "--mount"] as const;

/** Why this machine cannot run such programs; undefined if it can. */
export function missingNamespaces(): string | undefined {
  const [command, ...words] = unshare;
  const { error, status, stderr } = spawnSync(command, [...words, "ip", "link", "set", "lo", "up"], {
    encoding: "utf8",
  });
  if (status === 0) return undefined;
  return `no network namespace can be made here: ${error?.message ?? stderr.trim()}`;
}

/** Runs a test program in its own namespaces. Fails with its report unless all its tests pass. */
export async function passesInNamespaces(t: TestContext, name: string) {
  const [command, ...words] = unshare;
  // With this variable, the program would report to the test runner instead of printing a report.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const child = spawn(
    command,
    [...words, process.execPath, "--enable-source-maps", "--test-reporter=tap", compiled(name)],
    {
      env,
      // A process group of its own, which is killed at the end of this test, including its services.
      detached: true,
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  t.after(() => child.exitCode === null && child.pid !== undefined && process.kill(-child.pid, "SIGKILL"));
  let report = "";
  for await (const chunk of child.stdout) report += chunk;
  assert.match(report, /^# pass [1-9]\d*$/m, report);
  assert.match(report, /^# fail 0$/m, report);
}

/** Makes all IPv4 and IPv6 addresses local to this machine. `recordsOf` answers all name lookups. */
export async function takeAllAddresses(recordsOf: (name: string, lookups: number) => Records | undefined) {
  const ip = (words: string) => execFileSync("ip", words.split(" "));
  ip("link set lo up");
  ip("route add local 0.0.0.0/0 dev lo");
  ip("-6 route add local ::/0 dev lo");
  const folder = mkdtempSync(join(tmpdir(), "svc-server-names-"));
  const replace = (path: string, text: string) => {
    const file = join(folder, path.replaceAll("/", "-"));
    writeFileSync(file, text, { mode: 0o644 });
    execFileSync("mount", ["--bind", file, path]);
  };
  replace("/etc/resolv.conf", "nameserver 127.0.0.1\noptions timeout:5\n");
  replace("/etc/nsswitch.conf", "hosts: dns\n");
  await startNameServer("127.0.0.1", recordsOf);
  return folder;
}

export interface Canaries {
  /** The number of connections per address, in Node's notation. */
  readonly seen: ReadonlyMap<string, number>;
  /** The certificate authority to trust. */
  readonly authority: Certificate;
}

const ports = { tls: [443, 8443], plain: [80, 8080], silent: [22, 25, 6379] } as const;

/** Listens on all addresses, counts connections per address, and answers requests. */
export async function startCanaries(names: readonly string[], answer: RequestListener): Promise<Canaries> {
  const seen = new Map<string, number>();
  const authority = certificate({ names: ["authority"], signs: true });
  const pair = certificate({ names, issuer: authority });
  const secure = createHttps({ key: pair.key, cert: pair.cert }, answer);
  const plain = createHttp(answer);
  const listen = async (port: number, take: (socket: Socket) => void) => {
    const server = createServer((socket) => {
      const address = (socket.localAddress ?? "unknown").replace(/^::ffff:(?=\d+\.)/, "");
      seen.set(address, (seen.get(address) ?? 0) + 1);
      socket.on("error", () => {});
      socket.unref();
      take(socket);
    });
    server.unref();
    await once(server.listen(port, "::"), "listening");
  };
  for (const port of ports.tls) await listen(port, (socket) => secure.emit("connection", socket));
  for (const port of ports.plain) await listen(port, (socket) => plain.emit("connection", socket));
  for (const port of ports.silent) await listen(port, (socket) => socket.destroy());
  return { seen, authority };
}
