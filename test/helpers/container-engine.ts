import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { descendantsOf, signalProcess } from "../../lib/kernel/node/process-table.ts";
import { freedAtEnd, subnet } from "./engine-leftovers.ts";
import { firstOf, until } from "./until.ts";

export const found = (name: string) =>
  spawnSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).stdout.trim();

/** The kinds of engines that the runtime supports. */
export const kinds = ["docker", "podman"] as const;
export type Kind = (typeof kinds)[number];

const needed: Record<Kind, { readonly programs: readonly string[]; readonly packages: string }> = {
  docker: { programs: ["dockerd", "busybox"], packages: "docker.io and busybox-static" },
  podman: {
    programs: ["podman", "runc", "conmon", "busybox"],
    packages: "podman, runc, netavark, aardvark-dns and busybox-static",
  },
};

/** Why container tests are skipped; false if they can run. */
export function lacking(kind: Kind): string | false {
  const { programs, packages } = needed[kind];
  const missing = programs.filter((name) => found(name) === "");
  if (missing.length > 0) return `${missing.join(" and ")} not found; install ${packages}`;
  return process.getuid?.() !== 0 && "only root may start a container engine of its own";
}
export const noEngine = lacking("docker");

/** Sends a request to an engine; returns the parsed body. */
export async function askEngine(socketPath: string, path: string, method = "GET") {
  const asked = request({ socketPath, path, method, agent: false }).end();
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  let text = "";
  for await (const chunk of response) text += chunk;
  // biome-ignore lint/suspicious/noExplicitAny: a test may assert any field
  return text === "" ? undefined : (JSON.parse(text) as any);
}

/** The ids of all containers. Podman returns an error if one disappears while it lists them. */
const listContainers = (socketPath: string): Promise<string[]> =>
  firstOf(async () => {
    const answer = await askEngine(socketPath, "/containers/json?all=1");
    return Array.isArray(answer) ? answer.map(({ Id }: { Id: string }) => Id) : undefined;
  });

interface Daemon {
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The engine prints this line when it is ready. */
  readonly ready: string;
  /** The pid file of a part of the engine that survives when the engine is killed. */
  readonly rest?: string;
}

const write = (path: string, text: string) => {
  writeFileSync(path, text);
  return path;
};

/**
 * How to start an engine that stores everything in one folder. It has no default bridge, so it changes nothing else.
 */
const daemons: Record<Kind, (folder: string, socket: string) => Daemon> = {
  docker: (folder, socket) => {
    const settings = {
      "data-root": join(folder, "data"),
      "exec-root": join(folder, "exec"),
      pidfile: join(folder, "pid"),
      hosts: [`unix://${socket}`],
      "storage-driver": "vfs",
      "exec-opts": ["native.cgroupdriver=cgroupfs"],
      iptables: false,
      ip6tables: false,
      bridge: "none",
      "default-address-pools": [{ base: subnet, size: 24 }],
    };
    return {
      command: ["dockerd", "--config-file", write(join(folder, "config.json"), JSON.stringify(settings))],
      ready: "API listen on",
      rest: join(folder, "exec/containerd/containerd.pid"),
    };
  },
  podman: (folder, socket) => ({
    command: ["podman", "--log-level=info", "system", "service", "--time=0", `unix://${socket}`],
    ready: "API service listening on",
    env: {
      TMPDIR: folder,
      CONTAINERS_CONF: write(
        join(folder, "containers.conf"),
        `[containers]
default_ulimits = ["nofile=4096:20000", "nproc=4096:16384"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_backend = "netavark"
network_config_dir = "${join(folder, "networks")}"
default_subnet_pools = [{ base = "${subnet}", size = 24 }]
`,
      ),
      CONTAINERS_STORAGE_CONF: write(
        join(folder, "storage.conf"),
        `[storage]
driver = "vfs"
graphroot = "${join(folder, "data")}"
runroot = "${join(folder, "exec")}"
`,
      ),
      CONTAINERS_REGISTRIES_CONF: write(
        join(folder, "registries.conf"),
        `[[registry]]
location = "127.0.0.1"
insecure = true
`,
      ),
    },
  }),
};

/** A test or a bench, which runs cleanup functions at its end. */
export interface Scope {
  after(end: () => unknown): void;
}

async function startDaemon({ command: [program = "", ...words], env, ready }: Daemon, cwd: string) {
  // Podman's monitor writes a file where it runs if a container takes too much memory.
  const daemon = spawn(program, words, { cwd, stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, ...env } });
  const said: string[] = [];
  for await (const line of createInterface({ input: daemon.stderr })) {
    said.push(line);
    if (!line.includes(ready)) continue;
    daemon.stderr.resume();
    return daemon;
  }
  throw new Error(`${program} ended: ${said.slice(-5).join("\n")}`);
}

async function stopDaemon(
  daemon: Awaited<ReturnType<typeof startDaemon>>,
  { rest }: Daemon,
  kind: Kind,
  signal: NodeJS.Signals = "SIGTERM",
): Promise<void> {
  if (daemon.exitCode !== null || daemon.signalCode !== null) return;
  const ended = once(daemon, "exit");
  const below = daemon.pid === undefined ? [] : descendantsOf(daemon.pid);
  daemon.kill(signal);
  await ended;
  // Podman does not stop the running step of an aborted build.
  if (kind === "podman") for (const { pid } of below) signalProcess(pid, "SIGKILL");
  // A surviving process holds the other end of this pipe.
  daemon.stderr.destroy();
  if (signal !== "SIGKILL" || rest === undefined) return;
  process.kill(Number(readFileSync(rest, "utf8")), "SIGKILL");
  // The next engine would wait for this process in vain if nothing reaps it.
  rmSync(rest);
}

/** Starts a separate container engine that keeps everything in a temporary folder. */
export async function containerEngine(t: Scope, kind: Kind = "docker") {
  const folder = mkdtempSync(join(tmpdir(), "svc-server-engine-"));
  const free = freedAtEnd(folder);
  const socket = join(folder, "docker.sock");
  const daemonOf = daemons[kind](folder, socket);
  const start = () => startDaemon(daemonOf, folder);
  let daemon = await start();
  const stop = (signal?: NodeJS.Signals) => stopDaemon(daemon, daemonOf, kind, signal);
  const before = process.env["DOCKER_HOST"];
  process.env["DOCKER_HOST"] = `unix://${socket}`;
  t.after(async () => {
    if (before === undefined) delete process.env["DOCKER_HOST"];
    else process.env["DOCKER_HOST"] = before;
    try {
      if (daemon.exitCode === null && daemon.signalCode === null) {
        // A service that is still open must not start its containers again.
        const own = `${socket}.own`;
        renameSync(socket, own);
        await until(
          async () => (await listContainers(own)).length === 0,
          async () => {
            for (const id of await listContainers(own)) await askEngine(own, `/containers/${id}?force=1`, "DELETE");
          },
        );
        // Otherwise the bridges of networks would remain on this machine, and a later engine could not use their subnet.
        await askEngine(own, "/networks/prune", "POST");
      }
      await stop();
    } finally {
      await free();
    }
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
    containers: () => listContainers(socket),
    /** The names of all images, tags and digests. */
    async images(): Promise<string[]> {
      // Podman returns an error while an image is being removed.
      const all = await firstOf<{ RepoTags?: string[]; RepoDigests?: string[] }[]>(async () => {
        const answer = await ask("/images/json");
        return Array.isArray(answer) ? answer : undefined;
      });
      return (
        all
          .flatMap(({ RepoTags, RepoDigests }) => [...(RepoTags ?? []), ...(RepoDigests ?? [])])
          // Podman also assigns a digest to each tag.
          .filter((name: string) => !name.startsWith("<none>") && !/svc-server\/.*@/.test(name))
      );
    },
    networks: async (): Promise<string[]> =>
      (await ask("/networks"))
        .map(({ Name }: { Name: string }) => Name)
        .filter((name: string) => /svc-server/.test(name)),
  };
}
