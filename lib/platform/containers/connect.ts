import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import { createEngineApi, type EngineApi } from "./engine-api.ts";

export interface Engine {
  readonly api: EngineApi;
  /** A readable name: `Docker 20.10.24 at /var/run/docker.sock`. */
  readonly name: string;
  /** `linux/amd64` */
  readonly platform: string;
  readonly hasInit: boolean;
  readonly isPodman: boolean;
}

const version = v.object({
  Version: v.string(),
  ApiVersion: v.string(),
  Os: v.string(),
  Arch: v.string(),
  Components: v.nullish(v.array(v.object({ Name: v.string() })), []),
});
const info = v.object({
  InitBinary: v.nullish(v.string(), ""),
  InitCommit: v.nullish(v.object({ ID: v.nullish(v.string(), "") })),
});

/** API versions: the newest that this driver knows, and the oldest that it accepts. */
const newest = 44;
const oldest = 41;

const install = "install one (apt-get install docker.io, or podman), or name its socket in DOCKER_HOST";

/** The usual sockets of Docker and Podman, system-wide and per user. */
const usual = (runtime: string | undefined) => [
  "/var/run/docker.sock",
  "/run/podman/podman.sock",
  ...(runtime === undefined ? [] : [join(runtime, "docker.sock"), join(runtime, "podman/podman.sock")]),
  join(homedir(), ".docker/run/docker.sock"),
];

/** The socket of a container engine: from `DOCKER_HOST`, else the first usual one that exists. */
function findSocket(): string {
  const { DOCKER_HOST: named, XDG_RUNTIME_DIR: runtime } = process.env;
  if (named !== undefined && named !== "") {
    const [, path] = /^unix:\/\/(\/.+)$/.exec(named) ?? [];
    if (path === undefined)
      throw new Error(`the runtime engine needs a unix socket; correct DOCKER_HOST, such as unix:///run/docker.sock`);
    if (!existsSync(path)) throw new Error(`no container engine at ${path}, which DOCKER_HOST names; start it`);
    return path;
  }
  const socket = usual(runtime).find(existsSync);
  if (socket === undefined) throw new Error(`the runtime engine finds no container engine; ${install}`);
  return socket;
}

/** Finds the container engine of this machine. If there is none, rejects with the way to install one. */
export async function connectEngine(): Promise<Engine> {
  const socket = findSocket();
  const answer = await createEngineApi(socket, "").call(version, "GET", "/version", { timeout: "10s" });
  const [, minor = "0"] = /^1\.(\d+)$/.exec(answer.ApiVersion) ?? [];
  const isPodman = answer.Components?.some((one) => /podman/i.test(one.Name)) ?? false;
  const name = `${isPodman ? "Podman" : "Docker"} ${answer.Version}`;
  if (Number(minor) < oldest)
    throw new Error(`${name} at ${socket} is too old: the runtime engine needs Docker 20.10 or Podman 4`);
  const api = createEngineApi(socket, `/v1.${Math.min(newest, Number(minor))}`);
  const { InitBinary, InitCommit } = await api.call(info, "GET", "/info");
  if (answer.Os !== "linux") throw new Error(`${name} at ${socket} runs no Linux containers`);
  return {
    api,
    name: `${name} at ${socket}`,
    platform: `${answer.Os}/${answer.Arch}`,
    hasInit: InitBinary !== "" && InitCommit?.ID !== "N/A",
    isPodman,
  };
}
