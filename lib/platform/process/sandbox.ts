import { existsSync, lstatSync, readlinkSync, realpathSync } from "node:fs";
import { basename, delimiter, dirname, join } from "node:path";
import { maxProcesses } from "../../kernel/limits.ts";
import { type Child, type Command, type Group, startChild, type TakeOutput } from "../../kernel/node/child-process.ts";
import { quoted, shellCommand } from "../../kernel/text/shell-words.ts";
import { boxEntry, type Capabilities, layerOf, type MountPaths } from "../box/box-entry.ts";
import type { Groups } from "../box/cgroups.ts";
import { hiddenFiles } from "../box/machine-files.ts";
import { limitOption } from "../box/namespace-limits.ts";
import { type Listener, listeningPorts } from "../runtime/listening-ports.ts";
import { installVariables } from "./installs.ts";

export interface Box {
  readonly app: string;
  /** The folder in the release where commands run; empty for the top. */
  readonly root?: string;
  /** For a build: folders for its cache and temporary files. A running app has neither. */
  readonly build?: { readonly cache: string; readonly temporary: string };
  /** Whether it writes below the folder of the release, in a layer that ends with it. The release never changes. */
  readonly hasLayer?: boolean;
  /** The command prefix that enters the disk of a build, if it has one. */
  readonly within?: readonly string[];
  /** The environment's data folder, and the maximum size of a file in it. */
  readonly data?: { readonly folder: string; readonly bytes: number };
  /** The user id of the organization; undefined if all use the server's user. */
  readonly user: number | undefined;
  /** The port of 127.0.0.1 that forwards into the box; undefined for a build. */
  readonly port?: number;
  /** The port on which the app listens in the box's network; undefined if it equals `port`. */
  readonly inside?: number;
  /** Files and folders of the machine that it can read in addition to the system's, at the same paths. */
  readonly reads?: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly memory_bytes: number;
}

export interface Sandbox {
  readonly name: "bubblewrap" | "none";
  start(script: string, box: Box, take: TakeOutput): Child;
  /** The ports on which a box's programs listen; undefined if boxes share the machine's network. */
  readonly listening: ((child: Child) => readonly Listener[]) | undefined;
  /** Holds the layer of a running box. The returned function tells, after its end, whether the layer has content. */
  readonly layerOf: ((child: Child) => () => boolean) | undefined;
}

const maxPrinted = 64 * 1024;

/** Runs a command to its end; returns its exit code and output. */
export async function outputOf(start: (take: TakeOutput) => Child): Promise<{ code: number | null; text: string }> {
  let text = "";
  const child = start((chunk) => {
    if (text.length < maxPrinted) text += chunk;
    return 0;
  });
  return { code: (await child.ended).code, text };
}

/** A bundler opens a thousand files at once. All files of a box are closed when it is killed, which takes time. */
const openFiles = { build: 2048, app: 1024 } as const;
const maxFile = 1024 ** 3;
const temporaryBytes = 256 * 1024 ** 2;
const hostPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

const nodeFolder = () => dirname(realpathSync(process.execPath));

/** Node 24 reserves 512 MiB for compiled code. It counts as data even while unused. */
const reserved = 576 * 1024 ** 2;

/** Hard limits per process. Without a group they include memory, and the watch then names the limit. */
const limits = ({ memory_bytes, data, build }: Box, group: Group | undefined) => [
  "prlimit",
  ...(group ? [] : [`--data=${Math.ceil(memory_bytes * 1.25) + reserved}`]),
  `--fsize=${Math.max(maxFile, data?.bytes ?? 0)}`,
  `--nofile=${build ? openFiles.build : openFiles.app}`,
  // The kernel exempts root from this limit; the watch counts processes in any case.
  limitOption("nproc", 2 * maxProcesses),
  limitOption("sigpending", maxProcesses),
  "--core=0",
];

/** The program folders of an app: those of its packages and of fetched tools. */
const programFolders = ["node_modules/.bin", ".venv/bin", ".svc/node_modules/.bin"];

/** The variables of every command. The box's own variables win. */
const environmentOf = (app: string, { env, root = "" }: Box, folders: Readonly<Record<string, string>>) => ({
  // The top of a workspace has programs too.
  PATH: [
    ...[...new Set([join(app, root), app])].flatMap((at) => programFolders.map((folder) => join(at, folder))),
    nodeFolder(),
    hostPath,
  ].join(delimiter),
  LANG: "C.UTF-8",
  ...folders,
  ...env,
});

/** The processes that set up a box count towards its limit. */
const setupProcesses = 16;

const groupOf = (groups: Groups | undefined, { memory_bytes }: Box) =>
  groups?.make({ memory_bytes, processes: maxProcesses + setupProcesses, endsTogether: true });

/**
 * No isolation: deployed code can read everything that the server's user can, including the database and the server's
 * environment.
 */
export function noSandbox(groups: Groups | undefined): Sandbox {
  const command = (script: string, box: Box, group: Group | undefined): Command => {
    const { app, build, data } = box;
    const temporary = build?.temporary ?? "/tmp";
    const folders = {
      HOME: temporary,
      TMPDIR: temporary,
      ...(data && { DATA_DIR: data.folder }),
      ...(build && installVariables(build.cache)),
    };
    const entering = (group?.entries ?? []).map((file) => `echo 0 > ${quoted(file)}`);
    const words = [
      ...["setpriv", "--no-new-privs", "--pdeathsig", "KILL", "--"],
      ...limits(box, group),
      ...["--", "sh", "-c", script],
    ];
    const args = ["-ec", [...entering, `exec ${shellCommand(words)}`].join("\n")];
    return {
      file: "sh",
      args,
      env: environmentOf(app, box, folders),
      cwd: join(app, box.root ?? ""),
      isSandbox: false,
      group,
    };
  };
  return {
    name: "none",
    start: (script, box, take) => startChild(command(script, box, groupOf(groups, box)), take),
    listening: undefined,
    layerOf: undefined,
  };
}

const roots = ["/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32"];
const settings = [
  ...["resolv.conf", "hosts", "host.conf", "gai.conf", "nsswitch.conf", "services", "protocols", "mime.types"],
  ...["ssl", "ca-certificates", "pki", "crypto-policies", "alternatives", "localtime"],
  ...["ld.so.cache", "ld.so.conf", "ld.so.conf.d"],
];

/** The parts of the host that every box sees, all read-only. */
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

/** The folders of Node, if a version manager installed it. The folder above them may be somebody's home. */
function ownNode(): string[] {
  const node = realpathSync(process.execPath);
  const programs = dirname(node);
  if (programs.startsWith("/usr")) return [];
  if (basename(programs) !== "bin") return [node];
  return ["bin", "lib", "include"].map((name) => join(programs, "..", name)).filter(existsSync);
}

/** The arguments of bubblewrap: separate processes, users and folders. */
function boxArguments(box: Box, { of, layered, terminals, nothing, descriptors }: MountPaths): string[] {
  const { app, build, data, hasLayer, reads = [] } = box;
  const folders = {
    HOME: "/tmp",
    TMPDIR: "/tmp",
    ...(data && { DATA_DIR: "/data" }),
    ...(build && installVariables("/cache")),
  };
  const env = environmentOf("/app", box, folders);
  const { passwd, group, resolver, filter } = descriptors;
  return [
    ...["--unshare-user", "--uid", "1000", "--gid", "1000", "--unshare-pid", "--unshare-ipc", "--unshare-uts"],
    ...["--unshare-cgroup-try", "--disable-userns", "--die-with-parent", "--hostname", "app", "--clearenv"],
    ...(filter === undefined ? [] : ["--seccomp", filter]),
    ...Object.entries(env).flatMap(([name, value]) => ["--setenv", name, value]),
    ...hostParts(),
    // Node's os.userInfo() throws if the user has no entry.
    ...["--ro-bind-data", passwd, "/etc/passwd", "--ro-bind-data", group, "/etc/group"],
    ...(resolver === undefined ? [] : ["--ro-bind-data", resolver, "/etc/resolv.conf"]),
    ...["--proc", "/proc", ...hiddenFiles(nothing), "--dev", "/dev", "--dev-bind", terminals, "/dev/pts"],
    ...["--size", String(temporaryBytes), "--perms", "1777", "--tmpfs", "/dev/shm"],
    ...(build
      ? ["--bind", of(build.temporary), "/tmp", "--bind", of(build.cache), "/cache", "--bind", of(app), "/app"]
      : ["--size", String(temporaryBytes), "--perms", "1777", "--tmpfs", "/tmp"]),
    ...(hasLayer ? ["--bind", layered(app), "/app"] : build ? [] : ["--ro-bind", of(app), "/app"]),
    ...(data ? ["--bind", of(data.folder), "/data"] : []),
    ...[...ownNode(), ...reads].flatMap((path) => ["--ro-bind", of(path), path]),
    ...["--symlink", "/tmp", "/var/tmp", "--remount-ro", "/dev", "--remount-ro", "/"],
    ...["--chdir", join("/app", box.root ?? "")],
  ];
}

/** A bubblewrap sandbox with the machine's protections around it. */
export function bubblewrap(capabilities: Capabilities, groups: Groups | undefined): Sandbox {
  const { reach, layers } = capabilities;
  return {
    name: "bubblewrap",
    layerOf: layers && (({ pid }) => layerOf(pid)),
    listening: reach && (({ pid }) => (pid === undefined ? [] : listeningPorts(pid, reach.ports))),
    start(script, box, take) {
      const group = groupOf(groups, box);
      let hiddenArgs: string[] = [];
      const { user, port, inside, within = [] } = box;
      const boxSettings = { entries: group?.entries ?? [], user, port, inside, within };
      const entering = boxEntry(capabilities, boxSettings, (places) => {
        hiddenArgs = boxArguments(box, places);
        return ["bwrap", "--args", "3", "--", ...limits(box, group), "--", "sh", "-c", places.waiting + script];
      });
      // The outer environment is empty: an app's LD_PRELOAD must not reach a program outside the box.
      const around = { env: { PATH: hostPath }, cwd: "/", isSandbox: true };
      return startChild({ ...entering, ...around, hiddenArgs, group }, take);
    },
  };
}
