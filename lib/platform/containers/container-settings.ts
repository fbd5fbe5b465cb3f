import * as v from "valibot";
import { maxProcesses } from "../../kernel/limits.ts";
import { replacingShell } from "../runtime/procfile.ts";
import type { EngineApi } from "./engine-api.ts";
import { EngineError } from "./engine-api.ts";
import type { Image } from "./images.ts";

/** The labels by which the next process recognizes a container. */
export const labels = {
  folder: "svc-server.folder",
  deployment: "svc-server.deployment",
  environment: "svc-server.environment",
  project: "svc-server.project",
  health: "svc-server.health",
  port: "svc-server.port",
  /** In Procfile format. */
  workers: "svc-server.workers",
  /** In svc.json format. */
  schedules: "svc-server.schedules",
  /** The command that runs beside the app: `worker NAME` or `schedule NAME`; empty for the app. */
  beside: "svc-server.beside",
} as const;

export interface ContainerOrder {
  readonly image: Image;
  readonly env: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  /** The port in the container and the port of 127.0.0.1 that forwards to it; undefined for workers and schedules. */
  readonly ports?: { readonly inside: number; readonly host: number };
  readonly command?: string;
  readonly memory_bytes: number;
  /** The folder of the machine that the container mounts as `/data`. */
  readonly data: string;
  readonly network: string;
  /** Whether the engine can add an init process. Without one, a program that runs as process 1 may ignore TERM. */
  readonly hasInit: boolean;
  readonly isPodman: boolean;
}

const created = v.object({ Id: v.pipe(v.string(), v.nonEmpty()) });
const binding = v.nullish(v.array(v.object({ HostIp: v.optional(v.string()), HostPort: v.string() })));
const state = v.object({
  State: v.object({
    Running: v.boolean(),
    ExitCode: v.optional(v.number(), 0),
    OOMKilled: v.optional(v.boolean(), false),
    Error: v.optional(v.string(), ""),
  }),
  NetworkSettings: v.object({ Ports: v.nullish(v.record(v.string(), binding)) }),
});
const listed = v.pipe(
  v.object({
    Id: v.string(),
    Created: v.optional(v.number(), 0),
    State: v.optional(v.string(), ""),
    Labels: v.nullish(v.record(v.string(), v.string())),
  }),
  v.transform(({ Id, Created, State, Labels }) => {
    return { id: Id, created: Created, isRunning: State === "running", labels: Labels ?? {} };
  }),
);

export type ContainerState = { readonly hostPort: number | undefined } & v.InferOutput<typeof state>["State"];

/** The most open files of a process. When a container is killed, all of them are closed, which takes time. */
const openFiles = 1024;
/** The files that Docker hides by default, because this list replaces its own, and files that delay a process's end. */
const hidden = [
  ...["asound", "acpi", "interrupts", "kcore", "keys", "latency_stats", "timer_list", "timer_stats", "sched_debug"],
  ...["scsi", "pressure", "diskstats"],
].map((name) => `/proc/${name}`);
/** The process limit of one user of the machine, such as root, across all apps. */
const maxProcessesOfUser = 16_384;
/** The paths that Docker makes read-only by default, and Docker's own files on the machine, whose size has no limit. */
const readOnly = [
  ...["bus", "fs", "irq", "sys", "sysrq-trigger"].map((name) => `/proc/${name}`),
  ...["hosts", "hostname", "resolv.conf"].map((name) => `/etc/${name}`),
];
const temporary = "rw,exec,nosuid,nodev,mode=1777,size=268435456";

/** An app gets its memory, its own files, /tmp and the network, and no other resource of the machine. */
const limitsOf = ({ image, ports, memory_bytes, data, network, hasInit, isPodman }: ContainerOrder) => ({
  ...(ports && { PortBindings: { [`${ports.inside}/tcp`]: [{ HostIp: "127.0.0.1", HostPort: String(ports.host) }] } }),
  NetworkMode: network,
  Memory: memory_bytes,
  // Equal to the memory limit, which disables swap.
  MemorySwap: memory_bytes,
  PidsLimit: maxProcesses,
  CapDrop: ["ALL"],
  SecurityOpt: ["no-new-privileges"],
  MaskedPaths: [...hidden, "/sys/firmware", "/sys/devices/virtual/powercap"],
  Privileged: false,
  ReadonlyPaths: readOnly,
  // `written-files` limits the bytes that the app writes there.
  ReadonlyRootfs: false,
  Mounts: [{ Type: "bind", Source: data, Target: "/data" }],
  // An image's volume would outlive its container and have no size limit, so it becomes a tmpfs.
  Tmpfs: Object.fromEntries(
    ["/tmp", ...image.volumes.filter((path) => path !== "/data")].map((path) => [path, temporary]),
  ),
  Ulimits: [
    { Name: "nofile", Soft: openFiles, Hard: openFiles },
    { Name: "core", Soft: 0, Hard: 0 },
    // If a limit is missing, Podman raises it to the kernel's maximum. Not every root user may do that.
    ...(isPodman ? [{ Name: "nproc", Soft: maxProcessesOfUser, Hard: maxProcessesOfUser }] : []),
  ],
  Init: hasInit,
  RestartPolicy: { Name: "no" },
  LogConfig: {
    Type: "json-file",
    // With one file, Docker empties it while it is followed, and the follower may then wait forever.
    Config: isPodman ? { "max-size": "10m" } : { "max-size": "5m", "max-file": "2" },
  },
});

const sizes = v.object({ SizeRw: v.optional(v.number(), 0) });
export const writtenBytes = async (api: EngineApi, id: string): Promise<number> =>
  (await api.call(sizes, "GET", `/containers/${id}/json`, { query: { size: "true" } })).SizeRw;

/** Podman answers 500 if a container disappears during an inspection. */
const isGone = (error: unknown) =>
  error instanceof EngineError && (error.status === 404 || /no such container/i.test(error.message));

export type Containers = ReturnType<typeof createContainers>;

export function createContainers(api: EngineApi) {
  /** Removals for which no caller waits. */
  const removals = new Set<Promise<void>>();
  return {
    /** Creates and starts a container and returns its id. Removes it if it does not start. */
    async run(order: ContainerOrder, signal: AbortSignal): Promise<string> {
      const body = {
        Image: order.image.id,
        Env: Object.entries(order.env).map(([name, value]) => `${name}=${value}`),
        Labels: order.labels,
        ...(order.ports && { ExposedPorts: { [`${order.ports.inside}/tcp`]: {} } }),
        ...(order.command !== undefined && { Entrypoint: ["sh", "-c"], Cmd: [replacingShell(order.command)] }),
        HostConfig: limitsOf(order),
      };
      const { Id: id } = await api.call(created, "POST", "/containers/create", { body, signal });
      try {
        await api.tell("POST", `/containers/${id}/start`, { signal, timeout: "60s" });
      } catch (error) {
        await this.remove(id).catch(() => {});
        throw error;
      }
      return id;
    },

    async state(id: string, signal: AbortSignal): Promise<ContainerState | undefined> {
      try {
        const { State, NetworkSettings } = await api.call(state, "GET", `/containers/${id}/json`, { signal });
        const all = Object.values(NetworkSettings.Ports ?? {}).flatMap((one) => one ?? []);
        const published = all.find(({ HostIp }) => HostIp === "127.0.0.1");
        return { ...State, hostPort: published && Number(published.HostPort) };
      } catch (error) {
        if (isGone(error)) return undefined;
        throw error;
      }
    },

    writtenBytes: (id: string) => writtenBytes(api, id),

    /** Resolves when a container has stopped. Rejects if the connection breaks. */
    async wait(id: string, signal: AbortSignal): Promise<void> {
      await api.call(v.unknown(), "POST", `/containers/${id}/wait`, { signal, timeout: null });
    },

    logs: (id: string, since_s: number, signal: AbortSignal) =>
      api.open("GET", `/containers/${id}/logs`, {
        query: { follow: "1", stdout: "1", stderr: "1", since: String(since_s) },
        signal,
      }),

    stop: (id: string, grace_ms: number) =>
      api.tellIfThere("POST", `/containers/${id}/stop`, {
        query: { t: String(Math.ceil(grace_ms / 1000)) },
        timeout: "60s",
      }),

    async remove(id: string): Promise<void> {
      const isConflict = (error: unknown) => error instanceof EngineError && error.status === 409;
      try {
        await api.tell("DELETE", `/containers/${id}`, { query: { force: "1", v: "1" }, timeout: "60s" });
      } catch (error) {
        if (isGone(error)) return;
        if (!isConflict(error)) throw error;
        // Another removal of this container is running.
        const query = { condition: "removed" };
        await api.call(v.unknown(), "POST", `/containers/${id}/wait`, { query, timeout: "60s" }).catch((failed) => {
          if (!isGone(failed)) throw failed;
        });
      }
    },

    removeLater(id: string): void {
      const removal = this.remove(id)
        .catch(() => {})
        .finally(() => removals.delete(removal));
      removals.add(removal);
    },

    /** Resolves when no removal runs in the background. Until then, the engine refuses to remove the images. */
    removed: async () => void (await Promise.all(removals)),

    /** All containers with a label, newest first. */
    async list(label: string) {
      const query = { all: "1", filters: JSON.stringify({ label: [label] }) };
      const all = await api.call(v.array(listed), "GET", "/containers/json", { query });
      return all.sort((a, b) => b.created - a.created);
    },
  };
}
