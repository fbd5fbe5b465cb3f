import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export const found = (name: string) =>
  spawnSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).stdout.trim();
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

/** What ends with a test, or with a bench. */
export interface Scope {
  after(end: () => unknown): void;
}

/** A Docker Engine of its own, with everything in a temporary folder. It has no default bridge: nothing else is touched. */
export async function containerEngine(t: Scope) {
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
