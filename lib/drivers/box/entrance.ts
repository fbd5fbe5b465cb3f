import { statSync } from "node:fs";
import { quoted, shellCommand } from "../../kernel/shell-words.ts";
import { closedRoutes, openedRoutes, pastaOptions, type Reach, resolverSettings } from "./network.ts";

/** The protections that this machine has for a box. */
export interface Means {
  /** The program with which a box gets its own folders: as root, or in a user namespace. */
  readonly as: readonly string[];
  /** The networks and ports that it reaches; undefined if it shares the machine's network. */
  readonly reach: Reach | undefined;
  /** The file with the system call filter; undefined for a processor without one. */
  readonly filter: string | undefined;
}

/** The differences between one box and the next. */
export interface Visit {
  /** The files of its control group. */
  readonly entries: readonly string[];
  /** The id of its user; undefined if it has the server's. */
  readonly user: number | undefined;
  /** The port of 127.0.0.1 that leads in. */
  readonly port: number | undefined;
  /** The port of the box to which it leads; otherwise the same. */
  readonly inside: number | undefined;
  /** The program that runs another one with the files of a build. */
  readonly within: readonly string[];
}

/** Where the command of a box finds its parts. */
export interface Places {
  /** A path to a file or folder of the machine that works even if the box's user may not enter the folders above it. */
  of(path: string): string;
  /** The first lines of a script of the box. They wait for the network, which is set up at the same time. */
  readonly waiting: string;
  /** The file descriptors with the texts of `/etc/passwd`, `/etc/group` and `/etc/resolv.conf`, and with the filter. */
  readonly descriptors: {
    readonly passwd: string;
    readonly group: string;
    readonly resolver: string | undefined;
    readonly filter: string | undefined;
  };
}

/**
 * The parts of a box lie in this folder while it is set up. The box's own mount table hides it afterwards. Neither the setup
 * nor a release needs anything else in it.
 */
const place = "/sys/bus";
/** The shell has descriptors of one digit only. The sandbox reads its arguments from 3. */
const descriptor = { ready: 4, go: 5, filter: 6, passwd: 7, group: 8, resolver: 9 } as const;
const closing = "3<&- 6<&- 7<&- 8<&- 9<&-";

/** A text on a descriptor of the shell. */
const text = (to: number, lines: string) => `exec ${to}<<'END'\n${lines}END`;

/** A line of the file from which one `mount` mounts everything: each program that starts takes milliseconds. */
const bound = (path: string, to: string) =>
  `${path.replace(/[\\\s#]/g, (one) => `\\${one.charCodeAt(0).toString(8).padStart(3, "0")}`)} ${to} none bind 0 0\n`;

/** The lines of a file of the folder, as the shell writes it by itself. */
const file = (name: string, lines: string) => `printf %s ${quoted(lines)} > ${name}`;

/** On a machine without udev, the tunnel's device may belong to root alone. */
const lacksTunnel = () => (statSync("/dev/net/tun").mode & 0o006) !== 0o006;
const noIpv6 = "/proc/sys/net/ipv6/conf/default/disable_ipv6";
const tunnel = { device: "/dev/net/tun", make: "mknod -m 666 tun c 10 200" } as const;

/**
 * The box's own user makes the network of the box, and so gets no rights over the machine's. It belongs to a user namespace
 * around the sandbox, so code inside cannot change it. pasta connects it from outside while the sandbox is made. Closed
 * networks are closed before that, since variables of the app such as LD_PRELOAD run code at once.
 */
function withNetwork(visit: Visit, reach: Reach, command: readonly string[]): string {
  const connecting = [
    `read -r answer <&${descriptor.ready}`,
    `if [ "$answer" != failed ] && ip -batch opened; then echo made 1<>made; exit; fi`,
    `echo "The network of the box was not made:" >&2; cat said >&2; echo failed 1<>made`,
  ].join("\n");
  const inside = [
    // No link of the box has an address of IPv6, so not even machines of the same link are asked for.
    `[ ! -e ${noIpv6} ] || echo 1 > ${noIpv6}`,
    "ip -batch closed",
    `echo go >&${descriptor.go}`,
    `{ ${connecting}; } ${closing} &`,
    `exec ${shellCommand(command)} 0<>made ${descriptor.ready}<&- ${descriptor.go}<&-`,
  ].join("\n");
  const pasta = shellCommand(["pasta", ...pastaOptions(visit.port, visit.inside, reach), "-P", "ready"]);
  return [
    `{ read -r _ <&${descriptor.go}; ${pasta} $$ || echo failed >&${descriptor.ready}; } ${closing} > said 2>&1 &`,
    `exec unshare --user --map-root-user --net -- sh -ec ${quoted(inside)}`,
  ].join("\n");
}

/** The shell script that sets up a box and then becomes the command that `write` gives. */
export function entrance({ as, reach, filter }: Means, visit: Visit, write: (at: Places) => string[]) {
  const { entries, user, within } = visit;
  const known: string[] = [];
  const nameOf = (path: string) => `at${known.indexOf(path)}`;
  const command = write({
    of(path) {
      if (!known.includes(path)) known.push(path);
      return `${place}/${nameOf(path)}`;
    },
    waiting: reach ? 'read -r made; [ "$made" = made ] || exit 126; exec < /dev/null; ' : "",
    descriptors: {
      passwd: String(descriptor.passwd),
      group: String(descriptor.group),
      resolver: reach && String(descriptor.resolver),
      filter: filter && String(descriptor.filter),
    },
  });
  const last = reach ? withNetwork(visit, reach, command) : `exec ${shellCommand(command)}`;
  const asUser = ["setpriv", `--reuid=${user}`, `--regid=${user}`, "--clear-groups", "--", "sh", "-ec"];
  const isFolder = (path: string) => statSync(path).isDirectory();
  const folders = known.filter(isFolder).map(nameOf);
  const files = known.filter((path) => !isFolder(path)).map(nameOf);
  const makesTunnel = reach !== undefined && lacksTunnel();
  const mounts = [
    ...known.map((path) => bound(path, `${place}/${nameOf(path)}`)),
    ...(makesTunnel ? [bound(`${place}/tun`, tunnel.device)] : []),
  ];
  const script = [
    // Moving to a group waits for all processors, so it runs beside the rest.
    ...(entries.length > 0
      ? [`{ ${entries.map((one) => `echo $$ > ${quoted(one)}`).join("; ")}; } & entering=$!`]
      : []),
    "umask 0",
    ...(filter === undefined ? [] : [`exec ${descriptor.filter}< ${quoted(filter)}`]),
    text(descriptor.passwd, "app:x:1000:1000:app:/tmp:/bin/sh\n"),
    text(descriptor.group, "app:x:1000:\n"),
    `mount -t tmpfs -o mode=755,size=1m box ${place}`,
    `cd ${place}`,
    ...(folders.length > 0 ? [`mkdir ${folders.join(" ")}`] : []),
    ...files.map((name) => `: > ${name}`),
    ...(makesTunnel ? [tunnel.make] : []),
    file("mounts", mounts.join("")),
    `mount --all --fstab ${place}/mounts`,
    ...(reach
      ? [
          text(descriptor.resolver, resolverSettings()),
          file("closed", closedRoutes(reach)),
          file("opened", openedRoutes(reach)),
          "mkfifo ready go made",
          ": > said",
          `exec ${descriptor.ready}<>ready ${descriptor.go}<>go`,
        ]
      : []),
    ...(entries.length > 0 ? ["wait $entering"] : []),
    "umask 022",
    user === undefined ? last : `exec ${shellCommand(asUser)} ${quoted(last)}`,
  ].join("\n");
  const [program = "", ...args] = [...within, ...as, "sh", "-ec", script];
  return { file: program, args };
}
