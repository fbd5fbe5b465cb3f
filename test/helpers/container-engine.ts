import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { gzipSync } from "node:zlib";
import { tarEnd, tarFile, tarHeader } from "../../lib/drivers/engine/context-tar.ts";

const found = (name: string) => spawnSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).stdout.trim();
const missing = ["dockerd", "busybox"].filter((name) => found(name) === "");

/** Why tests of containers are skipped; false where they can run. */
export const noEngine: string | false =
  missing.length > 0
    ? `${missing.join(" and ")} not found; install docker.io and busybox-static`
    : process.getuid?.() !== 0 && "only root may start a container engine of its own";

/** Asks an engine; answers the parsed body. */
export async function askEngine(socketPath: string, path: string, method = "GET") {
  const asked = request({ socketPath, path, method, agent: false }).end();
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  let text = "";
  for await (const chunk of response) text += chunk;
  // biome-ignore lint/suspicious/noExplicitAny: a test may assert any field
  return text === "" ? undefined : (JSON.parse(text) as any);
}

const settingsOf = (folder: string, socket: string) => ({
  "data-root": join(folder, "data"),
  "exec-root": join(folder, "exec"),
  pidfile: join(folder, "pid"),
  hosts: [`unix://${socket}`],
  "storage-driver": "vfs",
  "exec-opts": ["native.cgroupdriver=cgroupfs"],
  iptables: false,
  ip6tables: false,
  bridge: "none",
  // Networks of engines on one machine must not overlap.
  "default-address-pools": [
    { base: `10.${200 + (process.pid % 50)}.${Math.floor(process.pid / 50) % 250}.0/24`, size: 24 },
  ],
});

/** A Docker Engine of its own, with everything in a temporary folder. It has no default bridge: nothing else is touched. */
export async function containerEngine(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "svc-server-engine-"));
  const socket = join(folder, "docker.sock");
  const settings = join(folder, "config.json");
  writeFileSync(settings, JSON.stringify(settingsOf(folder, socket)));
  const start = async () => {
    const daemon = spawn("dockerd", ["--config-file", settings], { stdio: ["ignore", "ignore", "pipe"] });
    const said: string[] = [];
    for await (const line of createInterface({ input: daemon.stderr })) {
      said.push(line);
      if (!line.includes("API listen on")) continue;
      daemon.stderr.resume();
      return daemon;
    }
    throw new Error(`dockerd ended: ${said.slice(-5).join("\n")}`);
  };
  let daemon = await start();
  const stop = async (signal: NodeJS.Signals = "SIGTERM") => {
    if (daemon.exitCode !== null || daemon.signalCode !== null) return;
    const ended = once(daemon, "exit");
    daemon.kill(signal);
    await ended;
    // It holds the other end of this pipe.
    daemon.stderr.destroy();
    if (signal !== "SIGKILL") return;
    const pid = join(folder, "exec/containerd/containerd.pid");
    process.kill(Number(readFileSync(pid, "utf8")), "SIGKILL");
    // The next engine would wait for it where nobody reaps it.
    rmSync(pid);
  };
  const before = process.env["DOCKER_HOST"];
  process.env["DOCKER_HOST"] = `unix://${socket}`;
  t.after(async () => {
    if (before === undefined) delete process.env["DOCKER_HOST"];
    else process.env["DOCKER_HOST"] = before;
    if (daemon.exitCode === null && daemon.signalCode === null) {
      for (const { Id } of await askEngine(socket, "/containers/json?all=1"))
        await askEngine(socket, `/containers/${Id}?force=1`, "DELETE");
      // The bridges of networks would stay on this machine.
      await askEngine(socket, "/networks/prune", "POST");
    }
    await stop();
    // A kill leaves its mount.
    spawnSync("umount", ["--lazy", join(folder, "data")]);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  const ask = (path: string, method?: string) => askEngine(socket, path, method);
  return {
    socket,
    ask,
    stop,
    async start() {
      daemon = await start();
    },
    /** The ids of all containers. */
    containers: async (): Promise<string[]> =>
      (await ask("/containers/json?all=1")).map(({ Id }: { Id: string }) => Id),
    /** The names of all images, tags and digests. */
    images: async (): Promise<string[]> =>
      (await ask("/images/json")).flatMap(({ RepoTags, RepoDigests }: Record<string, string[] | null>) =>
        [...(RepoTags ?? []), ...(RepoDigests ?? [])].filter((name) => !name.startsWith("<none>")),
      ),
    networks: async (): Promise<string[]> =>
      (await ask("/networks"))
        .map(({ Name }: { Name: string }) => Name)
        .filter((name: string) => /svc-server/.test(name)),
  };
}

/** What an app of busybox does: answers its version, and ends where it is asked to. */
const script = (version: string) => `#!/bin/sh
read -r method path rest
while read -r line && [ "$line" != "$(printf '\\r')" ]; do :; done
answer() { printf 'HTTP/1.1 200 OK\\r\\nContent-Length: %s\\r\\nConnection: close\\r\\n\\r\\n%s' "\${#1}" "$1"; }
case $path in
/crash) echo 3 > /tmp/end; kill "$SERVER" ;;
/env) answer "$(env | sort | tr '\\n' ' ')" ;;
/slow) mkfifo /tmp/slow; echo slow > /proc/1/fd/1; read -r line < /tmp/slow; answer "${version}" ;;
*) answer "${version}"; [ ! -p /tmp/slow ] || { echo go > /tmp/slow; rm -f /tmp/slow; } ;;
esac
`;

const main = (version: string) => `#!/bin/sh
echo "listening as ${version}"
export SERVER=$$
nc -ll -p "$PORT" -e /answer &
server=$!
trap 'kill $server; exit $(cat /tmp/end 2>/dev/null || echo 0)' TERM
wait $server
exit $(cat /tmp/end 2>/dev/null || echo 0)
`;

const applets = [
  "sh",
  "nc",
  "cat",
  "env",
  "sort",
  "tr",
  "mkfifo",
  "rm",
  "sleep",
  "echo",
  "mkdir",
  "touch",
  "id",
  "wget",
  "ls",
];

export interface ImageParts {
  /** Files beside busybox: by path, a script each. */
  readonly files?: Readonly<Record<string, string>>;
  readonly config?: object;
  readonly architecture?: string;
}

/** An image that answers its version on PORT. */
export const answering = (version: string): ImageParts => ({
  files: { answer: script(version), main: main(version) },
  config: { Cmd: ["/main"], ExposedPorts: { "8000/tcp": {} } },
});

const sha256 = (bytes: Buffer) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

/** The parts of an image, made without a network: busybox and some files. */
export function makeImage({ files = {}, config = {}, architecture }: ImageParts) {
  const busybox = readFileSync(found("busybox"));
  const layer = Buffer.concat([
    ...["bin", "tmp"].map((name) => tarHeader({ name, kind: "folder", mode: 0o755 })),
    tarFile("bin/busybox", busybox, 0o755),
    ...applets.map((name) => tarHeader({ name: `bin/${name}`, kind: "link", target: "busybox" })),
    ...Object.entries(files).map(([name, text]) => tarFile(name, text, 0o755)),
    tarEnd,
  ]);
  const packed = gzipSync(layer, { level: 1 });
  const arch = architecture ?? (process.arch === "x64" ? "amd64" : process.arch);
  const settings = Buffer.from(
    JSON.stringify({
      architecture: arch,
      os: "linux",
      config: { Env: ["PATH=/bin"], ...config },
      rootfs: { type: "layers", diff_ids: [sha256(layer)] },
    }),
  );
  const type = "application/vnd.docker.distribution.manifest.v2+json";
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: type,
      config: {
        mediaType: "application/vnd.docker.container.image.v1+json",
        size: settings.length,
        digest: sha256(settings),
      },
      layers: [
        {
          mediaType: "application/vnd.docker.image.rootfs.diff.tar.gzip",
          size: packed.length,
          digest: sha256(packed),
        },
      ],
    }),
  );
  return { type, manifest, digest: sha256(manifest), blobs: [settings, packed] };
}

export type Answer = (request: IncomingMessage, response: ServerResponse) => boolean;

/** A registry in this process, on loopback. `before` may answer a request in place of it. */
export async function registry(t: TestContext, before: Answer = () => false) {
  const stored = new Map<string, { type: string; bytes: Buffer }>();
  const seen: string[] = [];
  const server = createServer((asked, response) => {
    const { pathname } = new URL(asked.url ?? "/", "http://localhost");
    seen.push(`${asked.method} ${pathname}`);
    if (before(asked, response)) return;
    const [, name = "", kind, which] = /^\/v2\/(.+)\/(manifests|blobs)\/(.+)$/.exec(pathname) ?? [];
    const one = stored.get(kind === "blobs" ? (which ?? "") : `${name}:${which}`);
    if (pathname === "/v2/") return void response.writeHead(200).end("{}");
    if (!one) return void response.writeHead(404).end('{"errors":[{"code":"MANIFEST_UNKNOWN"}]}');
    response.writeHead(200, {
      "content-type": one.type,
      "content-length": one.bytes.length,
      "docker-content-digest": sha256(one.bytes),
    });
    response.end(asked.method === "HEAD" ? undefined : one.bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close().closeAllConnections());
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    host,
    seen,
    /** Stores an image under a name with a tag; answers its digest. */
    put(name: string, tag: string, parts: ImageParts): string {
      const { type, manifest, digest, blobs } = makeImage(parts);
      for (const key of [`${name}:${tag}`, `${name}:${digest}`]) stored.set(key, { type, bytes: manifest });
      for (const bytes of blobs) stored.set(sha256(bytes), { type: "application/octet-stream", bytes });
      return digest;
    },
  };
}
