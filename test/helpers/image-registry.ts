import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { gzipSync } from "node:zlib";
import { found, type Scope } from "./container-engine.ts";
import { temporaryFolder } from "./program.ts";

/** The handler of a busybox app: it answers with its version, and exits on request. */
const script = (version: string) => `#!/bin/sh
read -r method path rest
while read -r line && [ "$line" != "$(printf '\\r')" ]; do :; done
answer() { printf 'HTTP/1.1 200 OK\\r\\nContent-Length: %s\\r\\nConnection: close\\r\\n\\r\\n%s' "\${#1}" "$1"; }
case $path in
/crash) echo 3 > /tmp/end; kill "$SERVER" ;;
/env) answer "$(env | sort | tr '\\n' ' ')" ;;
/status) answer "$(tr '\\n' ' ' < /proc/self/status)" ;;
/machine) answer "$(ls /proc/pressure; cat /proc/diskstats) $(ulimit -H -n)" ;;
/write) mkdir -p /srv/uploads; echo kept > /srv/uploads/file; answer "$(cat /srv/uploads/file)" ;;
/written) answer "$(ls /srv)" ;;
/fill) cat /bin/busybox /bin/busybox /bin/busybox /bin/busybox > /srv/large; answer "" ;;
/hosts) answer "$({ echo x > /etc/hosts && echo x > /etc/resolv.conf; } 2>&1)" ;;
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
  /** Additional files besides busybox: a script per path. */
  readonly files?: Readonly<Record<string, string>>;
  readonly config?: object;
  readonly architecture?: string;
}

/** An image whose app answers with its version on PORT. */
export const answering = (version: string): ImageParts => ({
  files: { answer: script(version), main: main(version) },
  config: { Cmd: ["/main"], ExposedPorts: { "8000/tcp": {} } },
});

const sha256 = (bytes: Buffer) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

/** The file system of an image as an archive; equal files give equal bytes. */
function layerOf(files: Readonly<Record<string, string>>): Buffer {
  const root = mkdtempSync(join(tmpdir(), "svc-layer-"));
  try {
    for (const name of ["bin", "srv", "tmp"]) mkdirSync(join(root, name));
    copyFileSync(found("busybox"), join(root, "bin/busybox"));
    for (const name of applets) symlinkSync("busybox", join(root, "bin", name));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(root, name), text);
    const same = ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--mode=755"];
    return execFileSync("tar", ["-c", ...same, "-C", root, "."], { maxBuffer: 64 * 1024 ** 2 });
  } finally {
    rmSync(root, { recursive: true });
  }
}

/** The parts of an image, created without a network: busybox and some files. */
export function makeImage({ files = {}, config = {}, architecture }: ImageParts) {
  const layer = layerOf(files);
  const packed = gzipSync(layer, { level: 1 });
  const arch = architecture ?? (process.arch === "x64" ? "amd64" : process.arch);
  const settings = Buffer.from(
    JSON.stringify({
      architecture: arch,
      os: "linux",
      config: { Env: ["PATH=/bin"], ...config },
      rootfs: { type: "layers", diff_ids: [sha256(layer)] },
      // Podman refuses base images without a history of their layers.
      history: [{ created: "2026-01-01T00:00:00Z", created_by: "a test" }],
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

/** A registry in this process, on loopback. `before` may answer a request instead. */
export async function registry(t: Scope, before: Answer = () => false) {
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
  const put = (name: string, tag: string, parts: ImageParts): string => {
    const { type, manifest, digest, blobs } = makeImage(parts);
    for (const key of [`${name}:${tag}`, `${name}:${digest}`]) stored.set(key, { type, bytes: manifest });
    for (const bytes of blobs) stored.set(sha256(bytes), { type: "application/octet-stream", bytes });
    return digest;
  };
  return {
    host,
    seen,
    /** Stores an image under a name and tag; returns its digest. */
    put,
    /** Stores a multi-platform index under a name and tag, with one image per processor; returns its digest. */
    putIndex(name: string, tag: string, images: Readonly<Record<string, ImageParts>>): string {
      const type = "application/vnd.docker.distribution.manifest.list.v2+json";
      const manifests = Object.entries(images).map(([architecture, parts]) => {
        const digest = put(name, architecture, { ...parts, architecture });
        const { type: mediaType, bytes } = stored.get(`${name}:${digest}`) ?? { type: "", bytes: Buffer.of() };
        return { mediaType, size: bytes.length, digest, platform: { architecture, os: "linux" } };
      });
      const bytes = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: type, manifests }));
      const digest = sha256(bytes);
      for (const key of [`${name}:${tag}`, `${name}:${digest}`]) stored.set(key, { type, bytes });
      return digest;
    },
  };
}

/** Why tests with Debian's registry are skipped; false if they can run. */
export const noRegistry: string | false = found("docker-registry") === "" && "docker-registry is not installed";

/** Starts the registry from Debian's package on loopback; returns its host. */
export async function debianRegistry(t: TestContext): Promise<string> {
  const folder = temporaryFolder(t);
  const settings = join(folder, "config.yml");
  const storage = { filesystem: { rootdirectory: join(folder, "data") } };
  // The file may contain JSON, because JSON is valid YAML.
  writeFileSync(settings, JSON.stringify({ version: "0.1", storage, http: { addr: "127.0.0.1:0" } }));
  const server = spawn("docker-registry", ["serve", settings], { stdio: ["ignore", "ignore", "pipe"] });
  t.after(() => void server.kill("SIGKILL"));
  for await (const line of createInterface({ input: server.stderr })) {
    const [, host] = /listening on (127\.0\.0\.1:\d+)/.exec(line) ?? [];
    if (host === undefined) continue;
    server.stderr.resume();
    return host;
  }
  throw new Error("docker-registry ended");
}

/** Pushes an image; returns its digest. */
export async function push(host: string, name: string, tag: string, parts: ImageParts): Promise<string> {
  const { type, manifest, digest, blobs } = makeImage(parts);
  const base = `http://${host}/v2/${name}`;
  for (const blob of blobs) {
    const { headers } = await fetch(`${base}/blobs/uploads/`, { method: "POST" });
    const place = new URL(headers.get("location") ?? "", base);
    place.searchParams.set("digest", sha256(blob));
    const { status } = await fetch(place, { method: "PUT", body: blob });
    if (status !== 201) throw new Error(`the registry answered ${status}`);
  }
  await fetch(`${base}/manifests/${tag}`, { method: "PUT", body: manifest, headers: { "content-type": type } });
  return digest;
}
