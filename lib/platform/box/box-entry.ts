import { statSync } from "node:fs";
import { quoted, shellCommand } from "../../kernel/text/shell-words.ts";
import { holdLayer, type Layers, layer, layerOver } from "./layers.ts";
import { closedRoutes, openedRoutes, pastaOptions, type Reach, resolverSettings } from "./network.ts";

/** The protections that this machine offers for a box. */
export interface Capabilities {
  /** The command prefix that gives a box its own folders: as root, or in a user namespace. */
  readonly as: readonly string[];
  /** The networks and ports that the box may reach; undefined if it shares the machine's network. */
  readonly reach: Reach | undefined;
  /** The file with the system call filter; undefined if there is no filter for this processor. */
  readonly filter: string | undefined;
  /** The layers in which apps write; undefined while the machine is tested without them. */
  readonly layers: Layers | undefined;
}

export interface BoxSettings {
  /** The `cgroup.procs` files of the box's control group. */
  readonly entries: readonly string[];
  readonly user: number | undefined;
  /** The port of 127.0.0.1 that is forwarded into the box. */
  readonly port: number | undefined;
  readonly inside: number | undefined;
  /** The command prefix that runs a program with the files of a build. */
  readonly within: readonly string[];
}

/** The paths and descriptors that the command of a box can use. */
export interface MountPaths {
  /** A path to a file or folder of the machine. It works even if the box's user may not enter the parent folders. */
  of(path: string): string;
  /** The same, but files written there end with the box, and the folder itself does not change. */
  layered(path: string): string;
  /** The first lines of a script in the box. They wait for the network, which is set up in parallel. */
  readonly waiting: string;
  /** The folder with the box's own pseudo terminals, for `/dev/pts`. */
  readonly terminals: string;
  readonly nothing: { readonly folder: string; readonly file: string };
  readonly descriptors: {
    readonly passwd: string;
    readonly group: string;
    readonly resolver: string | undefined;
    readonly filter: string | undefined;
  };
}

/** The setup mounts the parts of a box over this folder. Nothing needs its content, and the box hides it. */
const place = "/sys/bus";
/** The shell supports only one-digit descriptors. The sandbox reads its arguments from 3. */
const descriptor = { ready: 4, go: 5, filter: 6, passwd: 7, group: 8, resolver: 9 } as const;
const closing = "3<&- 6<&- 7<&- 8<&- 9<&-";

/** The result tells, after the end of a box, whether its layer has content. */
export const layerOf = (pid: number | undefined) => holdLayer(place, pid);

const text = (to: number, lines: string) => `exec ${to}<<'END'\n${lines}END`;

/** A line of an fstab file. One `mount` then mounts everything, because each program start takes milliseconds. */
const bound = (path: string, to: string) =>
  `${path.replace(/[\\\s#]/g, (one) => `\\${one.charCodeAt(0).toString(8).padStart(3, "0")}`)} ${to} none bind 0 0\n`;

/** The most pseudo terminals of a box. The kernel has 4096 for the whole machine. */
const maxTerminals = 32;
const terminals = `${place}/pts`;
const nothing = { folder: `${place}/none`, file: `${place}/empty` } as const;
const terminalsMount = `pts ${terminals} devpts newinstance,mode=620,ptmxmode=666,max=${maxTerminals} 0 0\n`;

/** Writes a file with a shell builtin, without starting a program. */
const file = (name: string, lines: string) => `printf %s ${quoted(lines)} > ${name}`;

/** On a machine without udev, only root may be able to open the tunnel device. */
const lacksTunnel = () => (statSync("/dev/net/tun").mode & 0o006) !== 0o006;
const noIpv6 = "/proc/sys/net/ipv6/conf/default/disable_ipv6";
const tunnel = { device: "/dev/net/tun", make: "mknod -m 666 tun c 10 200" } as const;

/**
 * The box's own user creates the box's network, in a user namespace around the sandbox: code inside cannot change it.
 * pasta connects it from outside, while the sandbox starts. Routes are blocked before that, because variables such as
 * LD_PRELOAD run code at once.
 */
function withNetwork(settings: BoxSettings, reach: Reach, command: readonly string[]): string {
  const connecting = [
    `read -r answer <&${descriptor.ready}`,
    `if [ "$answer" != failed ] && ip -batch opened; then echo made 1<>made; exit; fi`,
    `echo "The network of the box was not made:" >&2; cat said >&2; echo failed 1<>made`,
  ].join("\n");
  const inside = [
    // Opened first: a pipe that no process has open loses its content, and the sandbox may start late.
    "exec 0<>made",
    // IPv6 is off, because link-local addresses would reach the machines on the same link.
    `[ ! -e ${noIpv6} ] || echo 1 > ${noIpv6}`,
    "ip -batch closed",
    `echo go >&${descriptor.go}`,
    `{ ${connecting}; } ${closing} &`,
    `exec ${shellCommand(command)} ${descriptor.ready}<&- ${descriptor.go}<&-`,
  ].join("\n");
  const pasta = shellCommand(["pasta", ...pastaOptions(settings.port, settings.inside, reach), "-P", "ready"]);
  return [
    `{ read -r _ <&${descriptor.go}; ${pasta} $$ || echo failed >&${descriptor.ready}; } ${closing} > said 2>&1 &`,
    `exec unshare --user --map-root-user --net -- sh -ec ${quoted(inside)}`,
  ].join("\n");
}

const networkFiles = (reach: Reach): string[] => [
  text(descriptor.resolver, resolverSettings()),
  file("closed", closedRoutes(reach)),
  file("opened", openedRoutes(reach)),
  "mkfifo ready go made",
  ": > said",
  `exec ${descriptor.ready}<>ready ${descriptor.go}<>go`,
];

/** Builds the shell script that sets up a box and then becomes the command from `write`. */
export function boxEntry(
  { as, reach, filter, layers }: Capabilities,
  settings: BoxSettings,
  write: (at: MountPaths) => string[],
) {
  const { entries, user, within } = settings;
  const paths: string[] = [];
  const nameOf = (path: string) => `at${paths.indexOf(path)}`;
  const of = (path: string) => {
    if (!paths.includes(path)) paths.push(path);
    return `${place}/${nameOf(path)}`;
  };
  let layering: readonly string[] = [];
  const command = write({
    of,
    layered(path) {
      const at = of(path);
      if (layers) layering = layerOver(place, nameOf(path), layers, user);
      return at;
    },
    terminals,
    nothing,
    waiting: reach ? 'read -r made; [ "$made" = made ] || exit 126; exec < /dev/null; ' : "",
    descriptors: {
      passwd: String(descriptor.passwd),
      group: String(descriptor.group),
      resolver: reach && String(descriptor.resolver),
      filter: filter && String(descriptor.filter),
    },
  });
  const last = reach ? withNetwork(settings, reach, command) : `exec ${shellCommand(command)}`;
  const asUser = ["setpriv", `--reuid=${user}`, `--regid=${user}`, "--clear-groups", "--", "sh", "-ec"];
  const isFolder = (path: string) => statSync(path).isDirectory();
  const folders = paths.filter(isFolder).map(nameOf);
  const files = paths.filter((path) => !isFolder(path)).map(nameOf);
  const makesTunnel = reach !== undefined && lacksTunnel();
  const mounts = [
    terminalsMount,
    ...paths.map((path) => bound(path, `${place}/${nameOf(path)}`)),
    ...(makesTunnel ? [bound(`${place}/tun`, tunnel.device)] : []),
  ];
  const script = [
    // Joining a group waits for all processors, so it runs in parallel.
    ...(entries.length > 0
      ? [`{ ${entries.map((one) => `echo $$ > ${quoted(one)}`).join("; ")}; } & entering=$!`]
      : []),
    "umask 0",
    ...(filter === undefined ? [] : [`exec ${descriptor.filter}< ${quoted(filter)}`]),
    text(descriptor.passwd, "app:x:1000:1000:app:/tmp:/bin/sh\n"),
    text(descriptor.group, "app:x:1000:\n"),
    `mount -t tmpfs -o mode=755,size=1m box ${place}`,
    `cd ${place}`,
    `mkdir ${["pts", "none", layer, ...folders].join(" ")}`,
    ...["empty", ...files].map((name) => `: > ${name}`),
    ...(makesTunnel ? [tunnel.make] : []),
    file("mounts", mounts.join("")),
    `mount --all --fstab ${place}/mounts`,
    ...layering,
    ...(reach ? networkFiles(reach) : []),
    ...(entries.length > 0 ? ["wait $entering"] : []),
    "umask 022",
    user === undefined ? last : `exec ${shellCommand(asUser)} ${quoted(last)}`,
  ].join("\n");
  const [program = "", ...args] = [...within, ...as, "sh", "-ec", script];
  return { file: program, args };
}
