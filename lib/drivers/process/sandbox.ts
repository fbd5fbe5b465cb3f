import { existsSync, lstatSync, readlinkSync, realpathSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import type { Command } from "./child.ts";
import { installVariables } from "./installs.ts";

/** What a command may see and use. */
export interface Box {
  /** The folder of the release. */
  readonly app: string;
  /** For a build: folders for its cache and its temporary files. A running app has none, and cannot change its release. */
  readonly build?: { readonly cache: string; readonly temporary: string };
  readonly env: Readonly<Record<string, string>>;
  readonly memory_bytes: number;
}

export interface Sandbox {
  readonly name: "bubblewrap" | "none";
  /** The command that runs a shell script in the box. */
  command(script: string, box: Box): Command;
}

/** Most processes of one build or app. */
export const maxProcesses = 1024;
const largestFile = 1024 ** 3;
const temporaryBytes = 256 * 1024 ** 2;
const hostPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

const nodeFolder = () => dirname(realpathSync(process.execPath));

/** The hard limits of each process. The watch over all of them ends a build with the name of the limit. */
const limits = ({ memory_bytes }: Box) => [
  "prlimit",
  `--data=${Math.ceil(memory_bytes * 1.25) + 64 * 1024 ** 2}`,
  `--fsize=${largestFile}`,
  "--nofile=4096",
  // Not for root, whom the kernel exempts; the watch counts as well.
  `--nproc=${2 * maxProcesses}`,
  "--core=0",
];

/** What every command is given; the box's own variables win. */
const environmentOf = (app: string, { env }: Box, folders: Readonly<Record<string, string>>) => ({
  PATH: [join(app, "node_modules/.bin"), nodeFolder(), hostPath].join(delimiter),
  LANG: "C.UTF-8",
  ...folders,
  ...env,
});

/**
 * Without isolation: limits, and an end with the server. Deployed code can read what the server's user can read, its
 * database and environment included.
 */
export const noSandbox: Sandbox = {
  name: "none",
  command(script, box) {
    const { app, build } = box;
    const temporary = build?.temporary ?? "/tmp";
    const folders = {
      HOME: temporary,
      TMPDIR: temporary,
      ...(build && installVariables(build.cache)),
    };
    const [file = "", ...more] = [
      ...["setpriv", "--no-new-privs", "--pdeathsig", "KILL", "--"],
      ...limits(box),
      ...["--", "sh", "-c", script],
    ];
    return { file, args: more, env: environmentOf(app, box, folders), cwd: app, isSandbox: false };
  },
};

const roots = ["/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32"];
const settings = [
  ...["resolv.conf", "hosts", "host.conf", "gai.conf", "nsswitch.conf", "services", "protocols", "mime.types"],
  ...["ssl", "ca-certificates", "pki", "crypto-policies", "alternatives", "localtime"],
  ...["ld.so.cache", "ld.so.conf", "ld.so.conf.d"],
];

/** The parts of the host that every box shows, all read-only. */
function hostParts(): string[] {
  return [
    ...["--ro-bind", "/usr", "/usr"],
    ...roots.flatMap((path) => {
      if (!existsSync(path)) return [];
      return lstatSync(path).isSymbolicLink() ? ["--symlink", readlinkSync(path), path] : ["--ro-bind", path, path];
    }),
    ...settings.flatMap((name) => ["--ro-bind-try", `/etc/${name}`, `/etc/${name}`]),
  ];
}

/** Node where a version manager keeps it, with the programs that it installed. */
function ownNode(): string[] {
  const node = dirname(nodeFolder());
  return node.startsWith("/usr") ? [] : ["--ro-bind", node, node];
}

/** A box of bubblewrap: own processes, users and folders; the network is the host's. */
export function bubblewrap(folder: string): Sandbox {
  // Node's os.userInfo() throws for a user without an entry.
  const users = join(folder, "passwd");
  const groups = join(folder, "group");
  writeFileSync(users, "app:x:1000:1000:app:/tmp:/bin/sh\n");
  writeFileSync(groups, "app:x:1000:\n");
  return {
    name: "bubblewrap",
    command(script, box) {
      const { app, build } = box;
      const folders = {
        HOME: "/tmp",
        TMPDIR: "/tmp",
        ...(build && installVariables("/cache")),
      };
      const env = environmentOf("/app", box, folders);
      const hiddenArgs = [
        ...["--unshare-user", "--uid", "1000", "--gid", "1000", "--unshare-pid", "--unshare-ipc", "--unshare-uts"],
        ...["--unshare-cgroup-try", "--disable-userns", "--die-with-parent", "--hostname", "app", "--clearenv"],
        ...Object.entries(env).flatMap(([name, value]) => ["--setenv", name, value]),
        ...hostParts(),
        ...["--ro-bind", users, "/etc/passwd", "--ro-bind", groups, "/etc/group"],
        ...[
          "--proc",
          "/proc",
          "--dev",
          "/dev",
          "--size",
          String(temporaryBytes),
          "--perms",
          "1777",
          "--tmpfs",
          "/dev/shm",
        ],
        ...(build
          ? ["--bind", build.temporary, "/tmp", "--bind", build.cache, "/cache", "--bind", app, "/app"]
          : ["--size", String(temporaryBytes), "--perms", "1777", "--tmpfs", "/tmp", "--ro-bind", app, "/app"]),
        ...ownNode(),
        ...["--symlink", "/tmp", "/var/tmp", "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/app"],
      ];
      const args = ["--args", "3", "--", ...limits(box), "--", "sh", "-c", script];
      // Its own environment is empty: LD_PRELOAD of an app must not reach a program outside of the box.
      return { file: "bwrap", args, env: { PATH: hostPath }, cwd: "/", hiddenArgs, isSandbox: true };
    },
  };
}
