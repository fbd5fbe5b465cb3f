import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const install = "install one (apt-get install docker.io, or podman), or name its socket in DOCKER_HOST";

/** The usual sockets of Docker and Podman, system-wide and per user. */
const usual = (runtime: string | undefined) => [
  "/var/run/docker.sock",
  "/run/podman/podman.sock",
  ...(runtime === undefined ? [] : [join(runtime, "docker.sock"), join(runtime, "podman/podman.sock")]),
  join(homedir(), ".docker/run/docker.sock"),
];

/** The socket of a container engine: from `DOCKER_HOST`, else the first usual one that exists. */
export function findSocket(): string {
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
