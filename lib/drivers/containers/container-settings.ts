import * as v from "valibot";
import { replacingShell } from "../runtime/procfile.ts";
import type { EngineApi } from "./engine-api.ts";
import { EngineError } from "./engine-api.ts";
import type { Image } from "./images.ts";

/** The labels by which the next process knows a container again. */
export const labels = {
  folder: "svc-server.folder",
  deployment: "svc-server.deployment",
  environment: "svc-server.environment",
  project: "svc-server.project",
  health: "svc-server.health",
  port: "svc-server.port",
  /** In the form of a Procfile. */
  workers: "svc-server.workers",
  /** In the form of svc.json. */
  schedules: "svc-server.schedules",
  /** What a container runs beside the app: `worker NAME` or `schedule NAME`. */
  beside: "svc-server.beside",
} as const;

export interface ContainerOrder {
  readonly image: Image;
  readonly env: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  /** The port inside, and that of 127.0.0.1 which leads to it; undefined for a command beside the app. */
  readonly ports?: { readonly inside: number; readonly host: number };
  /** A shell command that runs in place of the image's own. */
  readonly command?: string;
  readonly memory_bytes: number;
  /** The folder of the machine that it sees as `/data`. */
  readonly data: string;
  readonly network: string;
  /** Whether the engine has an init process, without which a program of number 1 may ignore TERM. */
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
const listed = v.array(
  v.object({
    Id: v.string(),
    Created: v.optional(v.number(), 0),
    State: v.optional(v.string(), ""),
    Labels: v.nullish(v.record(v.string(), v.string())),
  }),
);

export type ContainerState = { readonly hostPort: number | undefined } & v.InferOutput<typeof state>["State"];

export interface Listed {
  readonly id: string;
  readonly isRunning: boolean;
  readonly labels: Readonly<Record<string, string>>;
}

/** The most processes of one app. */
const maxProcesses = 1024;
/** The most processes of all apps of one user of the machine, such as root. */
const mostProcessesOfUser = 16_384;
const temporary = "rw,exec,nosuid,nodev,mode=1777,size=268435456";

/** An app gets its memory, /tmp and the network, and no other resource of the machine. */
const limitsOf = ({ image, ports, memory_bytes, data, network, hasInit, isPodman }: ContainerOrder) => ({
  ...(ports && { PortBindings: { [`${ports.inside}/tcp`]: [{ HostIp: "127.0.0.1", HostPort: String(ports.host) }] } }),
  NetworkMode: network,
  Memory: memory_bytes,
  // Equal to the memory limit, which turns swap off.
  MemorySwap: memory_bytes,
  PidsLimit: maxProcesses,
  CapDrop: ["ALL"],
  SecurityOpt: ["no-new-privileges"],
  Privileged: false,
  ReadonlyRootfs: true,
  Mounts: [{ Type: "bind", Source: data, Target: "/data" }],
  // A volume of an image would outlive its container, and have no limit.
  Tmpfs: Object.fromEntries(
    ["/tmp", ...image.volumes.filter((path) => path !== "/data")].map((path) => [path, temporary]),
  ),
  Ulimits: [
    { Name: "nofile", Soft: 4096, Hard: 4096 },
    { Name: "core", Soft: 0, Hard: 0 },
    // Podman raises limits that are left out to the kernel's maximum, which not every root may set.
    ...(isPodman ? [{ Name: "nproc", Soft: mostProcessesOfUser, Hard: mostProcessesOfUser }] : []),
  ],
  Init: hasInit,
  RestartPolicy: { Name: "no" },
  LogConfig: { Type: "json-file", Config: { "max-size": "10m" } },
});

/** Podman answers 500 for a container that goes while it is looked at. */
const isGone = (error: unknown) =>
  error instanceof EngineError && (error.status === 404 || /no such container/i.test(error.message));

/** Containers of one engine. */
export type Containers = ReturnType<typeof createContainers>;

export function createContainers(api: EngineApi) {
  return {
    /** Makes a container and starts it; answers its id. One that does not start is removed. */
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

    /** Undefined for a container that is gone. */
    async state(id: string, signal: AbortSignal): Promise<ContainerState | undefined> {
      try {
        const { State, NetworkSettings } = await api.call(state, "GET", `/containers/${id}/json`, { signal });
        const all = Object.values(NetworkSettings.Ports ?? {}).flatMap((one) => one ?? []);
        const found = all.find(({ HostIp }) => HostIp === "127.0.0.1");
        return { ...State, hostPort: found && Number(found.HostPort) };
      } catch (error) {
        if (isGone(error)) return undefined;
        throw error;
      }
    },

    /** Resolves when a container does not run any more, or rejects when the connection breaks. */
    async wait(id: string, signal: AbortSignal): Promise<void> {
      await api.call(v.unknown(), "POST", `/containers/${id}/wait`, { signal, timeout: null });
    },

    /** What it prints, in frames, as it prints it. */
    logs: (id: string, since_s: number, signal: AbortSignal) =>
      api.open("GET", `/containers/${id}/logs`, {
        query: { follow: "1", stdout: "1", stderr: "1", since: String(since_s) },
        signal,
      }),

    /** Asks it to end, and forces it after the grace. */
    stop: (id: string, grace_ms: number) =>
      api.tellIfThere("POST", `/containers/${id}/stop`, {
        query: { t: String(Math.ceil(grace_ms / 1000)) },
        timeout: "60s",
      }),

    /** Resolves once it is gone. */
    async remove(id: string): Promise<void> {
      const isConflict = (error: unknown) => error instanceof EngineError && error.status === 409;
      try {
        await api.tell("DELETE", `/containers/${id}`, { query: { force: "1", v: "1" }, timeout: "60s" });
      } catch (error) {
        if (isGone(error)) return;
        if (!isConflict(error)) throw error;
        // Another removal is running.
        const query = { condition: "removed" };
        await api.call(v.unknown(), "POST", `/containers/${id}/wait`, { query, timeout: "60s" }).catch((failed) => {
          if (!isGone(failed)) throw failed;
        });
      }
    },

    /** All containers with a label, newest first. */
    async list(label: string): Promise<Listed[]> {
      const query = { all: "1", filters: JSON.stringify({ label: [label] }) };
      const all = await api.call(listed, "GET", "/containers/json", { query });
      return all
        .sort((a, b) => b.Created - a.Created)
        .map(({ Id, State, Labels }) => ({ id: Id, isRunning: State === "running", labels: Labels ?? {} }));
    },
  };
}
